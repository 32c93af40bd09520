//! A folder that transformers loads: configuration, code where it has none of its own, weights, card, training script.

use super::python::{Task, source};
use super::sizes::Sizes;
use super::{Export, File, Format, Stock, card, pretty, tensors};
use crate::error::Result;
use crate::network::Naming;
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct HuggingFace;

impl Format for HuggingFace {
    fn name(&self) -> &'static str {
        "huggingface"
    }

    fn about(&self) -> &'static str {
        "a folder for AutoModel.from_pretrained; stock classes where layers are alike, else small code beside it"
    }

    fn files(&self, export: &Export) -> Result<Vec<File>> {
        let (a, source) = (export.architecture, source(export.architecture));
        let (mut config, mut files, auto) = match Stock::of(a) {
            Some(stock) => (stock.config, Vec::new(), stock.auto),
            None => {
                let (sizes, name, class) = (Sizes::of(a), source.name, source.class);
                let (heads, auto): (&[&str], _) = match source.task {
                    Task::Image => (&["ForImageClassification"], "AutoModelForImageClassification"),
                    Task::Encoder => (&["ForMaskedLM", "ForSequenceClassification"], "AutoModelForMaskedLM"),
                    Task::Decoder => (&["ForCausalLM", "ForSequenceClassification"], "AutoModelForCausalLM"),
                };
                let mut map = json!({"AutoConfig": format!("configuration_foretell_{name}.{class}Config"),
                    "AutoModel": format!("modeling_foretell_{name}.{class}Model")});
                for head in heads {
                    map[format!("AutoModel{head}")] =
                        format!("modeling_foretell_{name}.{class}{head}").into();
                }
                let saved = if source.task == Task::Encoder { "Model" } else { heads[0] };
                let mut config = sizes.config();
                config.insert("model_type".into(), format!("foretell_{name}").into());
                config.insert("architectures".into(), json!([format!("{class}{saved}")]));
                config.insert("auto_map".into(), map);
                config.insert("tie_word_embeddings".into(), false.into());
                let code = [
                    (format!("configuration_foretell_{name}.py"), source.configuration(&sizes.per_layer())),
                    (format!("modeling_foretell_{name}.py"), source.modeling()),
                ];
                (config, code.map(|(name, text)| (name, text.into_bytes())).to_vec(), auto)
            }
        };
        let custom = !files.is_empty();
        for key in ["dtype", "torch_dtype"] {
            config.insert(key.into(), "float32".into());
        }
        if source.task == Task::Decoder {
            config.insert("use_cache".into(), (!custom).into());
        }
        files.push(("config.json".to_owned(), pretty(&Value::Object(config))));
        let naming = if custom { Naming::Exported } else { Naming::Stock };
        files.extend(tensors(export, naming)?);
        files.push(("train.py".to_owned(), source.train(Some(auto), &card::constants(a)).into_bytes()));
        files.push(("README.md".to_owned(), card::huggingface(export, auto, custom).into_bytes()));
        Ok(files)
    }
}

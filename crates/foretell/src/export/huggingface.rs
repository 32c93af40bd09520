//! A folder that transformers loads: configuration, code where it has none of its own, weights, card, training script.

use super::family;
use super::{Export, File, Format, card, pretty, tensors};
use crate::architecture::NetworkKind;
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
        let a = export.architecture;
        let family = family::of(a)?;
        let source = family.source();
        let (mut config, mut files, auto) = match family.stock(a) {
            Some(stock) => (stock.config, Vec::new(), stock.auto),
            None => {
                let (sizes, name, class) = (family.sizes(a), source.name, source.class);
                let (heads, auto): (&[&str], _) = match source.kind {
                    NetworkKind::Vision => (&["ForImageClassification"], "AutoModelForImageClassification"),
                    NetworkKind::Encoder => {
                        (&["ForMaskedLM", "ForSequenceClassification"], "AutoModelForMaskedLM")
                    }
                    NetworkKind::Decoder | NetworkKind::Recurrent => {
                        (&["ForCausalLM", "ForSequenceClassification"], "AutoModelForCausalLM")
                    }
                };
                let mut map = json!({"AutoConfig": format!("configuration_foretell_{name}.{class}Config"),
                    "AutoModel": format!("modeling_foretell_{name}.{class}Model")});
                for head in heads {
                    map[format!("AutoModel{head}")] =
                        format!("modeling_foretell_{name}.{class}{head}").into();
                }
                let saved = if source.kind == NetworkKind::Encoder { "Model" } else { heads[0] };
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
        if matches!(source.kind, NetworkKind::Decoder | NetworkKind::Recurrent) {
            config.insert("use_cache".into(), (!custom).into());
        }
        files.push(("config.json".to_owned(), pretty(&Value::Object(config))));
        let naming = if custom { Naming::Exported } else { Naming::Stock };
        files.extend(tensors(export, naming)?);
        files.push((
            "train.py".to_owned(),
            source.train(Some(auto), &card::constants(a, &family.sizes(a))).into_bytes(),
        ));
        files.push(("README.md".to_owned(), card::huggingface(export, auto, custom).into_bytes()));
        Ok(files)
    }
}

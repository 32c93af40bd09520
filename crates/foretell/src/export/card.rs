//! The model card: what the network is, how to load and train it, where it comes from.

use super::{Export, Sizes};
use crate::architecture::{Architecture, Counter, NetworkKind, Part};

/// Numbers that the training script reads.
pub fn constants(a: &Architecture, sizes: &Sizes) -> Vec<(&'static str, u64)> {
    let whole = &sizes.whole;
    let number = |key: &str| whole.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
    match a.family().card().kind {
        NetworkKind::Vision => vec![
            ("IMAGE", number("image_size")),
            ("CHANNELS", number("num_channels")),
            ("CLASSES", number("num_labels")),
        ],
        _ => vec![("VOCABULARY", number("vocab_size")), ("CONTEXT", number("max_position_embeddings"))],
    }
}

pub fn huggingface(export: &Export, auto: &str, custom: bool) -> String {
    let task = match export.architecture.family().card().kind {
        NetworkKind::Vision => "image-classification",
        NetworkKind::Encoder => "fill-mask",
        NetworkKind::Decoder | NetworkKind::Recurrent => "text-generation",
    };
    let trust = if custom { ", trust_remote_code=True" } else { "" };
    let about = match custom {
        true => {
            "Its layers differ, so the folder brings its own code: `modeling_*.py`, a few hundred readable lines."
        }
        false => {
            "Its layers are alike, so it is a stock model of transformers; the folder holds no code but the training script."
        }
    };
    let weights = match export.weights {
        Some(_) => "from_pretrained(\".\"",
        None => "from_config(AutoConfig.from_pretrained(\".\")",
    };
    let import = if export.weights.is_some() { auto.to_owned() } else { format!("AutoConfig, {auto}") };
    let code = format!("from transformers import {import}\n\nmodel = {auto}.{weights}{trust})");
    let front = format!(
        "---\nlibrary_name: transformers\npipeline_tag: {task}\ntags: [foretell, untrained]\n---\n\n"
    );
    front + &text(export, about, &code)
}

pub fn pytorch(export: &Export) -> String {
    let code = match export.weights {
        Some(_) => "import model\n\nnetwork = model.load()\nfeatures, logits = network(batch)",
        None => "import model\n\nnetwork = model.Network(model.SIZES)\nfeatures, logits = network(batch)",
    };
    text(export, "All layers and sizes are in `model.py`, which needs nothing but torch.", code)
}

pub fn timm(export: &Export, name: &str) -> String {
    let pretrained = if export.weights.is_some() { ", pretrained=True" } else { "" };
    let code = format!(
        "import timm\nimport model  # registers it\n\nnetwork = timm.create_model(\"foretell_{name}\"{pretrained})"
    );
    text(export, "`model.py` registers it with timm; train it with timm's own scripts.", &code)
}

fn text(export: &Export, about: &str, code: &str) -> String {
    let (a, params) = (export.architecture, export.architecture.params());
    let parts = Part::ALL.iter().filter(|part| params.part(**part) > 0);
    let parts: String =
        parts.map(|part| format!("| {} parameters | {} |\n", part.name(), params.part(*part))).collect();
    let flops = a.flops(Counter::Exact).unwrap_or(0);
    let origin: String =
        export.origin.iter().map(|(what, which)| format!("| {what} | {} |\n", plain(which))).collect();
    let train = match a.family().card().kind {
        NetworkKind::Vision => {
            "python train.py --data IMAGES    # a folder per class; without --data made-up images\n"
        }
        _ => "python train.py --data text.txt\n",
    };
    let state = match export.weights {
        Some(_) => "It is **not trained**: the weights are those it was scored with, drawn at random.",
        None => "It is **not trained**, and there are no weights in this folder: training draws them.",
    };
    let train = if code.contains("timm") {
        String::new()
    } else {
        format!(
            "```sh\n{train}```\n\nThe recipe is in `train.py`, and each of its numbers is an option: `python train.py --help`.\n\n"
        )
    };
    format!(
        "# {} {}\n\nA network of the family {}. {state}\n\n{about}\n\n```python\n{code}\n```\n\n{train}\
         | | |\n|---|---|\n| parameters | {} |\n{parts}| multiply-adds for one input | {flops} |\n| id | {} |\n{origin}\
         \n`architecture.json` describes it whole; `foretell score architecture.json` reads it.\n",
        a.family(),
        a.id(),
        a.family(),
        params.total,
        a.id()
    )
}

/// The most characters of one line of the card's table.
const LINE: usize = 2000;

/// Text that somebody else chose, without what Markdown or HTML would make of it. Text that is too long ends after a
/// whole word.
fn plain(text: &str) -> String {
    let safe = |c: char| match c {
        '[' | ']' => format!("\\{c}"),
        c if c.is_ascii_alphanumeric() || " -_.,:;=+()/^'".contains(c) => c.to_string(),
        _ => "?".to_owned(),
    };
    if text.chars().count() <= LINE {
        return text.chars().map(safe).collect();
    }
    let beginning: String = text.chars().take(LINE).collect();
    let end = beginning.rfind([' ', ',']).unwrap_or(beginning.len());
    beginning[..end].chars().map(safe).collect::<String>() + " …"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_ends_after_a_whole_word() {
        assert_eq!(plain("block-wise[steps=2]<b>"), "block-wise\\[steps=2\\]?b?");
        let text = plain(&"word ".repeat(1000));
        assert!(text.ends_with("word …") && text.len() < LINE + 10, "{text}");
        let settings = "space:autoformer-tiny,".repeat(20);
        assert_eq!(plain(&settings), settings);
    }
}

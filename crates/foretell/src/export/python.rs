//! The Python of a family: whole files under `python/`, put together, never filled in.

use crate::architecture::NetworkKind;

/// The Python of one family.
pub struct Source {
    /// Part of file names and of the model's type.
    pub name: &'static str,
    /// Beginning of class names.
    pub class: &'static str,
    /// What its networks are.
    pub kind: NetworkKind,
    /// Parts of the Python file, its layers first. Each begins with a doc string that says what it is.
    pub layers: &'static [&'static str],
}

macro_rules! python {
    ($($name:literal),*) => { &[$(include_str!(concat!("../python/", $name, ".py"))),*] };
}
pub(super) use python;

impl Source {
    /// The network behind the interface of transformers.
    pub fn modeling(&self) -> String {
        let base = include_str!("python/hf_base.py");
        let heads = match self.kind {
            NetworkKind::Vision => include_str!("python/hf_image.py"),
            NetworkKind::Encoder => include_str!("python/hf_encoder.py"),
            NetworkKind::Decoder | NetworkKind::Recurrent => include_str!("python/hf_decoder.py"),
        };
        self.named(&assemble(self.layers[0], "", &[self.layers, &[base, heads]].concat()))
    }

    /// Its configuration; these sizes may differ from layer to layer.
    pub fn configuration(&self, per_layer: &[&str]) -> String {
        let list: Vec<String> = per_layer.iter().map(|key| format!("\"{key}\"")).collect();
        let part = include_str!("python/configuration.py");
        let text = assemble(part, "", &[part]);
        self.named(&text.replace("PER_LAYER = []", &format!("PER_LAYER = [{}]", list.join(", "))))
    }

    /// The network with its sizes in one file; for timm, registered there.
    pub fn model(&self, sizes: &str, timm: bool) -> String {
        let register: &[&str] = if timm { &[include_str!("python/timm_register.py")] } else { &[] };
        let parts = [self.layers, &[include_str!("python/torch_load.py")], register].concat();
        self.named(&assemble(self.layers[0], &format!("SIZES = {sizes}\n"), &parts))
    }

    /// The script that trains it. `auto` names the class of transformers that loads it; none: the file beside it does.
    pub fn train(&self, auto: Option<&str>, constants: &[(&str, u64)]) -> String {
        let text = include_str!("python/train_text.py");
        let (task, read): (&str, &[&str]) = match self.kind {
            NetworkKind::Vision => (include_str!("python/train_image.py"), &[]),
            NetworkKind::Encoder => (include_str!("python/train_encoder.py"), &[text]),
            NetworkKind::Decoder | NetworkKind::Recurrent => {
                (include_str!("python/train_decoder.py"), &[text])
            }
        };
        let load = match (auto, self.kind) {
            (Some(_), _) => include_str!("python/train_huggingface.py"),
            (None, NetworkKind::Encoder) => include_str!("python/train_pytorch_encoder.py"),
            (None, _) => include_str!("python/train_pytorch.py"),
        };
        let constants: String = constants.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        let parts = [&[include_str!("python/train_loop.py"), load], read, &[task]].concat();
        let text = assemble(task, &constants, &parts);
        auto.map_or(text.clone(), |auto| text.replace("AutoModel", auto))
    }

    /// With the family's name in place of the stand-in.
    fn named(&self, text: &str) -> String {
        text.replace("foretell_family", &format!("foretell_{}", self.name)).replace("Family", self.class)
    }
}

/// Modules of Python itself that the parts import.
const STANDARD: [&str; 7] = ["argparse", "json", "math", "os", "shutil", "struct", "time"];

/// One file of several parts in their order: what the part `docs` says it is, all imports, constants, all code.
fn assemble(docs: &str, constants: &str, parts: &[&str]) -> String {
    let (mut imports, mut bodies): (Vec<(u8, &str)>, Vec<String>) = (Vec::new(), Vec::new());
    for part in parts {
        let (_, code) = split(part);
        let (found, body): (Vec<&str>, Vec<&str>) =
            code.lines().partition(|line| line.starts_with("import ") || line.starts_with("from "));
        let group = |line: &str| match line.strip_prefix("import ") {
            Some(module) if STANDARD.contains(&module) => 0,
            _ if line.starts_with("from .") || line.starts_with("import model ") => 2,
            _ => 1,
        };
        imports.extend(found.into_iter().map(|line| (group(line), line)));
        bodies.push(body.join("\n").trim().to_owned());
    }
    imports.sort_by_key(|(group, line)| (*group, line.starts_with("from"), *line));
    imports.dedup();
    let mut head = String::new();
    for (i, (group, line)) in imports.iter().enumerate() {
        let gap = if i > 0 && imports[i - 1].0 != *group { "\n" } else { "" };
        head += &format!("{gap}{line}\n");
    }
    if !constants.is_empty() {
        head += &format!("\n{constants}");
    }
    format!("{}\n\n{head}\n\n{}\n", split(docs).0, bodies.join("\n\n\n"))
}

/// What a part says it is, and its code.
fn split(part: &str) -> (&str, &str) {
    const QUOTES: &str = "\"\"\"";
    let end = part[3..].find(QUOTES).expect("each part begins with what it is") + 6;
    part.split_at(end)
}

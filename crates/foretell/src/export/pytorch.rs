//! One plain file with all layers and sizes, and its weights: nothing but torch is needed.

use super::family;
use super::{Export, File, Format, card, tensors};
use crate::error::Result;
use crate::network::Naming;

/// See the [module documentation](self).
pub struct PyTorch;

impl Format for PyTorch {
    fn name(&self) -> &'static str {
        "pytorch"
    }

    fn about(&self) -> &'static str {
        "one plain file, model.py, that needs nothing but torch"
    }

    fn files(&self, export: &Export) -> Result<Vec<File>> {
        let a = export.architecture;
        let family = family::of(a)?;
        let source = family.source();
        let mut files = vec![
            ("model.py".to_owned(), source.model(&family.sizes(a).literal(), false).into_bytes()),
            ("README.md".to_owned(), card::pytorch(export).into_bytes()),
            ("train.py".to_owned(), source.train(None, &card::constants(a, &family.sizes(a))).into_bytes()),
        ];
        files.extend(tensors(export, Naming::Module)?);
        Ok(files)
    }
}

//! A vision transformer as a registered model of timm.

use super::family;
use super::{Export, File, Format, card, tensors};
use crate::architecture::NetworkKind;
use crate::error::{Error, Result};
use crate::network::Naming;

/// See the [module documentation](self).
pub struct Timm;

impl Format for Timm {
    fn name(&self) -> &'static str {
        "timm"
    }

    fn about(&self) -> &'static str {
        "model.py that registers a vision transformer with timm"
    }

    fn files(&self, export: &Export) -> Result<Vec<File>> {
        let a = export.architecture;
        let family = family::of(a)?;
        let source = family.source();
        if source.kind != NetworkKind::Vision {
            let message =
                format!("holds vision transformers, not {}: take huggingface or pytorch", a.family());
            return Err(Error::option("timm", message));
        }
        let mut files = vec![
            ("model.py".to_owned(), source.model(&family.sizes(a).literal(), true).into_bytes()),
            ("README.md".to_owned(), card::timm(export, source.name).into_bytes()),
        ];
        files.extend(tensors(export, Naming::Module)?);
        Ok(files)
    }
}

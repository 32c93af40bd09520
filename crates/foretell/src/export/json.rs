//! The architecture alone, as every command reads it.

use super::{Export, File, Format};
use crate::error::Result;

/// See the [module documentation](self).
pub struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "the architecture alone, as every command reads it"
    }

    fn files(&self, _: &Export) -> Result<Vec<File>> {
        Ok(Vec::new())
    }
}

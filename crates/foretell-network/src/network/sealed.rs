//! Weight files that carry a digest of their tensors, in the metadata that the format has room for.

use crate::error::{Error, Result};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use std::path::Path;

const KEY: &str = "foretell-digest";

/// The bytes of a safetensors file with a digest; `format` is what other programs read in its metadata. Same tensors, same
/// bytes.
pub fn sealed(
    tensors: &[(String, TensorView)],
    format: Option<&str>,
) -> std::result::Result<Vec<u8>, safetensors::SafeTensorError> {
    let mut named: Vec<(&str, &TensorView)> = tensors.iter().map(|(name, view)| (&name[..], view)).collect();
    let digest = digest(&mut named);
    let mut metadata = serde_json::json!({ KEY: digest });
    if let Some(format) = format {
        metadata["format"] = format.into();
    }
    let bytes = safetensors::serialize(tensors.iter().map(|(name, view)| (name, view)), None)?;
    // The crate writes metadata in any order, so they are put in front of the tensors here.
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize;
    let (header, data) = rest.split_at(length);
    let header = header.trim_ascii_end();
    let comma: &[u8] = if header == b"{}" { b"" } else { b"," };
    let mut new = [format!("{{\"__metadata__\":{metadata}").as_bytes(), comma, &header[1..]].concat();
    new.resize(new.len().next_multiple_of(8), b' ');
    Ok([&(new.len() as u64).to_le_bytes()[..], &new, data].concat())
}

/// The tensors of a file. One that carries a digest must have it; one of another program is taken as it is.
pub fn unsealed<'b>(bytes: &'b [u8], path: &Path) -> Result<SafeTensors<'b>> {
    let wrong = |message: String| Error::data(path.display().to_string(), message);
    let file = SafeTensors::deserialize(bytes).map_err(|e| wrong(e.to_string()))?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| wrong(e.to_string()))?;
    let said = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let views = file.tensors();
    let mut named: Vec<(&str, &TensorView)> = views.iter().map(|(name, view)| (&name[..], view)).collect();
    match said {
        Some(said) if *said != digest(&mut named) => {
            Err(wrong("is damaged: its tensors are not those that were written".into()))
        }
        _ => Ok(file),
    }
}

/// A digest of names, types, sizes and numbers, in the order of the names.
fn digest(tensors: &mut [(&str, &TensorView)]) -> String {
    tensors.sort_by_key(|(name, _)| *name);
    let mut hasher = blake3::Hasher::new();
    for (name, view) in tensors {
        let head = format!("{} {name} {:?} {:?} ", name.len(), view.dtype(), view.shape());
        hasher.update(head.as_bytes()).update(view.data());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::Dtype;

    #[test]
    fn an_altered_weight_is_found_and_files_of_others_are_read() {
        let numbers: Vec<u8> = [1.0_f32, 2.0].into_iter().flat_map(f32::to_le_bytes).collect();
        let view = || TensorView::new(Dtype::F32, vec![2], &numbers).unwrap();
        let path = Path::new("weights");
        let bytes = sealed(&[("b".into(), view()), ("a".into(), view())], Some("pt")).unwrap();
        assert_eq!(bytes, sealed(&[("b".into(), view()), ("a".into(), view())], Some("pt")).unwrap());
        assert_eq!(unsealed(&bytes, path).unwrap().len(), 2);
        let kept = |bytes: &[u8]| {
            let file = unsealed(bytes, path).ok()?;
            let mut all: Vec<(String, Vec<u8>)> =
                file.tensors().into_iter().map(|(name, view)| (name, view.data().to_vec())).collect();
            all.sort();
            Some(all)
        };
        let whole = kept(&bytes).unwrap();
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(kept(&damaged).is_none_or(|read| read == whole), "byte {place}");
        }
        let foreign = safetensors::serialize([("a", view())], None).unwrap();
        assert_eq!(unsealed(&foreign, path).unwrap().len(), 1);
    }
}

//! Results of passes as data: what another program hands back is checked before a proxy looks at it.

use super::result::{AnyWeights, KeptValue, Numbers, PassResult};
use crate::error::{Error, Result};
use crate::network::{Layout, Mark};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A number that every format can hold. Formats for people know no infinity and no NaN: there they are words. Single
/// precision is written as the double that equals it, which is read back to the same bits.
struct Written<S>(S);

/// Numbers of a precision that are written and read.
pub(super) trait Precise: Copy + Into<f64> + Serialize + for<'de> Deserialize<'de> {
    /// The nearest number of this precision.
    fn nearest(value: f64) -> Self;
}

impl Precise for f32 {
    fn nearest(value: f64) -> Self {
        value as f32
    }
}

impl Precise for f64 {
    fn nearest(value: f64) -> Self {
        value
    }
}

/// The words for what is no finite number.
const WORDS: [(&str, f64); 3] = [("nan", f64::NAN), ("inf", f64::INFINITY), ("-inf", f64::NEG_INFINITY)];

impl<S: Precise> Serialize for Written<S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let value: f64 = self.0.into();
        match value {
            _ if !serializer.is_human_readable() => self.0.serialize(serializer),
            _ if value.is_finite() => serializer.serialize_f64(value),
            _ if value.is_nan() => serializer.serialize_str(WORDS[0].0),
            _ => serializer.serialize_str(WORDS[if value > 0.0 { 1 } else { 2 }].0),
        }
    }
}

impl<'de, S: Precise> Deserialize<'de> for Written<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = f64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"nan\", \"inf\" or \"-inf\"")
            }
            fn visit_f64<E>(self, value: f64) -> Result<f64, E> {
                Ok(value)
            }
            fn visit_i64<E>(self, value: i64) -> Result<f64, E> {
                Ok(value as f64)
            }
            fn visit_u64<E>(self, value: u64) -> Result<f64, E> {
                Ok(value as f64)
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<f64, E> {
                let known = WORDS.iter().find(|(name, _)| *name == word);
                known
                    .map(|(_, value)| *value)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(word), &self))
            }
        }
        if !deserializer.is_human_readable() {
            return S::deserialize(deserializer).map(Written);
        }
        deserializer.deserialize_any(Read).map(|value| Written(S::nearest(value)))
    }
}

/// Reads and writes a list of numbers.
pub(super) mod list {
    use super::*;

    /// Writes it.
    pub fn serialize<S: Precise, T: Serializer>(list: &[S], serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_seq(list.iter().map(|x| Written(*x)))
    }

    /// Reads it.
    pub fn deserialize<'de, S: Precise, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<S>, D::Error> {
        Ok(Vec::<Written<S>>::deserialize(deserializer)?.into_iter().map(|x| x.0).collect())
    }
}

/// Reads and writes lists of numbers.
pub(super) mod lists {
    use super::*;

    /// Writes them.
    pub fn serialize<T: Serializer>(lists: &[Vec<f64>], serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_seq(lists.iter().map(|list| list.iter().map(|x| Written(*x)).collect::<Vec<_>>()))
    }

    /// Reads them.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<f64>>, D::Error> {
        let lists = Vec::<Vec<Written<f64>>>::deserialize(deserializer)?;
        Ok(lists.into_iter().map(|list| list.into_iter().map(|x| x.0).collect()).collect())
    }
}

/// Reads and writes a number that may be absent.
pub(super) mod option {
    use super::*;

    /// Writes it.
    pub fn serialize<T: Serializer>(number: &Option<f64>, serializer: T) -> Result<T::Ok, T::Error> {
        number.map(Written).serialize(serializer)
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Written<f64>>::deserialize(deserializer)?.map(|x| x.0))
    }
}

/// A kept value before its size is checked.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Unchecked {
    numbers: Numbers,
    rows: usize,
    cols: usize,
}

impl TryFrom<Unchecked> for KeptValue {
    type Error = Error;

    fn try_from(value: Unchecked) -> Result<Self> {
        KeptValue::new(value.numbers, value.rows, value.cols)
    }
}

impl PassResult {
    /// Refuses a result that does not belong to these weights, which is what another program may hand back: gradients,
    /// traces and marks must fit the tensors, and all numbers must have the precision of the weights.
    pub fn check(&self, weights: &AnyWeights) -> Result<()> {
        let layout: &Layout = weights.layout();
        let (tensors, wrong) =
            (layout.tensors().count(), |message: String| Err(Error::data("result", message)));
        let kept = || self.values.iter().chain(&self.value_gradients);
        let known = |mark: &Mark| match mark {
            Mark::Input(param) | Mark::Output(param) | Mark::Normed(param) => param.index() < tensors,
            _ => true,
        };
        if let Some((mark, _)) = kept().find(|(mark, _)| !known(mark)) {
            return wrong(format!("{mark:?} is kept, but there are {tensors} tensors"));
        }
        if let Some(gradients) = self.gradients().filter(|gradients| gradients.len() != layout.len()) {
            return wrong(format!("has {} gradients of {} weights", gradients.len(), layout.len()));
        }
        if let Some(row) = self.traces.iter().find(|row| row.len() != tensors) {
            return wrong(format!("has a trace of {} tensors, there are {tensors}", row.len()));
        }
        let single = matches!(weights, AnyWeights::F32(_));
        let mut numbers = kept().map(|(_, value)| &value.numbers).chain(self.gradients());
        if numbers.any(|numbers| matches!(numbers, Numbers::F32(_)) != single) {
            return wrong("has numbers of another precision than the weights".to_owned());
        }
        if self.batch == 0 && kept().next().is_some() {
            return wrong("keeps values of no sample: its batch is 0".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::{Form, Init, Role, Tensor};
    use crate::network::Weights;
    use serde_json::json;

    fn weights() -> Weights<f64> {
        let tensor = Tensor::new("q", Role::Query, Form::Linear, &[1, 2], Init::Zeros);
        Weights::new(Layout::new(vec![tensor]), vec![1.0, 2.0]).unwrap()
    }

    #[test]
    fn what_is_not_finite_is_a_word() {
        let text = json!({"loss": "inf", "numbers": [1, -0.5, "-inf", "nan"], "batch": 1});
        let result: PassResult = serde_json::from_value(text).unwrap();
        assert_eq!(result.loss, Some(f64::INFINITY));
        assert_eq!(result.numbers[..3], [1.0, -0.5, f64::NEG_INFINITY]);
        assert!(result.numbers[3].is_nan());
        let text = serde_json::to_value(&result).unwrap();
        assert_eq!(text["numbers"], json!([1.0, -0.5, "-inf", "nan"]));
        assert!(serde_json::from_value::<PassResult>(json!({"numbers": ["many"], "batch": 1})).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |text: serde_json::Value| {
            let result = serde_json::from_value::<PassResult>(text).map_err(|e| e.to_string());
            let weights = weights();
            let checked = result.and_then(|r| r.check(&AnyWeights::F64(&weights)).map_err(|e| e.to_string()));
            checked.err().unwrap_or_default()
        };
        let value = |rows: u32| json!({"numbers": {"f64": [1.0, 2.0]}, "rows": rows, "cols": 2});
        assert_eq!(refused(json!({"gradients": {"f64": [1.0, 2.0]}, "batch": 1})), "");
        assert_eq!(refused(json!({"values": [[{"output": 0}, value(1)]], "batch": 1})), "");
        for (text, part) in [
            (json!({"gradients": {"f64": [1.0]}, "batch": 1}), "1 gradients of 2 weights"),
            (json!({"gradients": {"f32": [1.0, 2.0]}, "batch": 1}), "another precision"),
            (json!({"traces": [[1.0, 2.0]], "batch": 1}), "a trace of 2 tensors"),
            (json!({"values": [[{"output": 1}, value(1)]], "batch": 1}), "there are 1 tensors"),
            (json!({"values": [["embedded", value(1)]], "batch": 0}), "its batch is 0"),
            (json!({"values": [["embedded", value(3)]], "batch": 1}), "3 x 2"),
            (json!({"values": []}), "batch"),
            (json!({"values": [], "batch": 1, "nuclear": []}), "unknown field"),
        ] {
            let error = refused(text.clone());
            assert!(error.contains(part), "{text}: {part:?} is not in: {error}");
        }
    }
}

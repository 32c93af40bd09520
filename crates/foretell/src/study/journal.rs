//! The best candidates of a study as a journal of Optuna, which its dashboard opens.
//!
//! A journal is a list of operations, one JSON object per line. Fields of architectures are parameters, one per entry where they
//! are lists or tables; objectives are the values.

use super::{Candidate, View};
use crate::error::Result;
use crate::space;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Operations of a journal.
const CREATE_STUDY: u8 = 0;
const SET_STUDY_SYSTEM_ATTRIBUTE: u8 = 3;
const CREATE_TRIAL: u8 = 4;
/// Directions and the state of a trial, as Optuna numbers them.
const MINIMIZE: u8 = 1;
const MAXIMIZE: u8 = 2;
const COMPLETE: u8 = 1;
/// The store keeps no times of trials, and Optuna wants some.
const WHEN: &str = "1970-01-01T00:00:00.000000+00:00";

/// The journal of the best candidates, so many at most, under the name of the study or another.
pub fn journal(view: &View, most: usize, name: Option<&str>) -> Result<String> {
    let best = view.best(most).into_iter().map(|trial| Candidate::of(view, trial));
    let best: Vec<Candidate> = best.collect::<Result<_>>()?;
    let rows: Vec<Map<String, Value>> = best.iter().map(parameters).collect();
    let mut choices: HashMap<&str, Vec<&Value>> = HashMap::new();
    for (key, value) in rows.iter().flatten() {
        let known = choices.entry(key).or_default();
        if !known.contains(&value) {
            known.push(value);
        }
    }
    let directions: Vec<u8> = view
        .objectives()
        .iter()
        .map(|objective| if objective.is_cost() { MINIMIZE } else { MAXIMIZE })
        .collect();
    let names: Vec<String> = view.objectives().iter().map(ToString::to_string).collect();
    let mut lines = vec![
        json!({"op_code": CREATE_STUDY, "study_name": name.unwrap_or(&view.study.name), "directions": directions}),
        json!({"op_code": SET_STUDY_SYSTEM_ATTRIBUTE, "study_id": 0, "system_attr": {"study:metric_names": names}}),
    ];
    let one = |(candidate, row): (&Candidate, &Map<String, Value>)| {
        let place = |(key, value): (&String, &Value)| {
            let place = choices[key.as_str()].iter().position(|known| *known == value).unwrap_or(0);
            (key.clone(), json!(place as f64))
        };
        let distribution = |key: &String| {
            let attributes = json!({"choices": choices[key.as_str()]});
            let text = json!({"name": "CategoricalDistribution", "attributes": attributes}).to_string();
            (key.clone(), Value::String(text))
        };
        let single = candidate.values.len() == 1;
        json!({
            "op_code": CREATE_TRIAL, "study_id": 0, "state": COMPLETE,
            "value": single.then(|| candidate.values[0]), "values": (!single).then_some(&candidate.values),
            "datetime_start": WHEN, "datetime_complete": WHEN,
            "params": row.iter().map(place).collect::<Map<_, _>>(),
            "distributions": row.keys().map(distribution).collect::<Map<_, _>>(),
            "user_attrs": {
                "id": candidate.architecture.id(), "trial": candidate.trial,
                "params": candidate.architecture.params().total,
            },
            "system_attrs": {}, "intermediate_values": {},
        })
    };
    lines.extend(best.iter().zip(&rows).map(one));
    let line = |mut line: Value| {
        line["worker_id"] = "foretell".into();
        format!("{line}\n")
    };
    Ok(lines.into_iter().map(line).collect())
}

/// Fields as flat parameters; nested ones as text.
fn parameters(candidate: &Candidate) -> Map<String, Value> {
    let mut flat = Map::new();
    let plain = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => Value::String(value.to_string()),
        _ => value.clone(),
    };
    for (key, value) in space::write_architecture(&candidate.architecture) {
        match &value {
            Value::Array(list) => {
                flat.extend(
                    list.iter().enumerate().map(|(place, item)| (format!("{key}.{place}"), plain(item))),
                );
            }
            Value::Object(entries) => {
                flat.extend(entries.iter().map(|(name, item)| (format!("{key}.{name}"), plain(item))));
            }
            _ => drop(flat.insert(key, value)),
        }
    }
    flat
}

//! Texts that stand for something else: what a text says if it says it without doubt.

use serde_json::{Number, Value};

use crate::json;

/// Up to here a double holds every whole number.
pub(super) const EXACT: f64 = 9_007_199_254_740_992.0;

pub(super) fn number_in(text: &str, integer: bool) -> Option<Value> {
    let starts_well = text.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'-');
    let number: Number = starts_well.then(|| serde_json::from_str(text).ok()).flatten()?;
    if integer && number.is_f64() {
        number.as_f64().and_then(integral)
    } else {
        Some(Value::Number(number))
    }
}

/// A whole number that a double holds exactly, as an integer.
pub(super) fn integral(number: f64) -> Option<Value> {
    (number.fract() == 0.0 && number.abs() <= EXACT)
        .then(|| if number < 0.0 { Value::from(number as i64) } else { Value::from(number as u64) })
}

pub(super) fn json_in(text: &str, opens: char) -> Option<Value> {
    text.trim_start().starts_with(opens).then(|| json::parse(text.as_bytes()).ok()).flatten()
}

//! The refusals of a shape, each with the field, the rule and what would have been right.

use std::borrow::Cow;

use parley_language::reason::{Details, Reason, Refusal};
use serde_json::Value;

use super::Place;
use super::pattern::Pattern;
use super::text::integral;

/// `invalid_body` for a field of the surface's own: given twice, unlike a header, and so on.
pub(crate) fn refuse_field(field: &str, rule: &'static str, error: impl Into<String>) -> Refusal {
    Refusal::field(field, rule, error)
}

pub(super) fn refuse(
    place: Place<'_>,
    rule: &'static str,
    error: String,
    details: Details,
) -> Refusal {
    let field = match place {
        Place::Root => None,
        Place::Member(..) | Place::Item(..) => Some(place.to_string()),
    };
    Refusal::new(Reason::InvalidBody, error).with(Details {
        field,
        rule: Some(Cow::Borrowed(rule)),
        ..details
    })
}

pub(super) fn bound(
    place: Place<'_>,
    rule: &'static str,
    limit: u64,
    actual: u64,
    unit: &str,
) -> Refusal {
    let side = if rule.starts_with("max") { "at most" } else { "at least" };
    let error = format!("`{place}` has {actual} {unit}; {side} {limit} are allowed");
    refuse(
        place,
        rule,
        error,
        Details { limit: Some(limit), actual: Some(actual), ..Details::default() },
    )
}

pub(super) fn check_text(
    text: &str,
    (min, max): (u64, u64),
    pattern: Option<&Pattern>,
    place: Place<'_>,
) -> Result<(), Refusal> {
    if let Some(pattern) = pattern
        && !pattern.matches(text)
    {
        return Err(not_of_form(pattern, place));
    }
    if text.contains('\0') {
        return Err(has_nul(place));
    }
    // Most texts are short: their bytes already say that their code points are few enough.
    let bytes = text.len() as u64;
    if bytes <= max && (min == 0 || (min == 1 && bytes > 0)) {
        return Ok(());
    }
    let count = text.chars().count() as u64;
    if count < min {
        return Err(bound(place, "min_length", min, count, "code points"));
    }
    if count > max {
        return Err(bound(place, "max_length", max, count, "code points"));
    }
    Ok(())
}

/// A text that people and models are to read shows something.
pub(super) fn shows_nothing(place: Place<'_>) -> Refusal {
    let error = format!("`{place}` shows nothing; write something");
    refuse(place, "empty", error, Details::default())
}

/// No text may hold NUL (13.8).
pub(super) fn has_nul(place: Place<'_>) -> Refusal {
    let error = format!("`{place}` contains NUL (U+0000); leave it out");
    refuse(place, "nul", error, Details::default())
}

/// An id that is only a number begins at 1 and ends where numbers end; a pattern that also knows names cannot say so.
pub(super) fn check_id(
    text: &str,
    pattern: Option<&Pattern>,
    place: Place<'_>,
) -> Result<(), Refusal> {
    let Some(pattern) = pattern else { return Ok(()) };
    let number = text.bytes().all(|b| b.is_ascii_digit());
    if number && text.parse::<u64>().map_or(true, |number| number == 0) {
        return Err(not_of_form(pattern, place));
    }
    Ok(())
}

fn not_of_form(pattern: &Pattern, place: Place<'_>) -> Refusal {
    let error = format!("`{place}` does not have the form {}", pattern.source());
    let allowed = vec![pattern.source().to_owned()];
    refuse(place, "pattern", error, Details { allowed, ..Details::default() })
}

pub(super) fn check_number(
    value: &mut Value,
    min: Option<f64>,
    max: Option<f64>,
    clamp: bool,
    place: Place<'_>,
) -> Result<(), Refusal> {
    let Some(number) = value.as_f64() else { return Ok(()) };
    let (rule, limit) = match (min, max) {
        (Some(min), _) if number < min => ("minimum", min),
        (_, Some(max)) if number > max => ("maximum", max),
        _ => return Ok(()),
    };
    if clamp {
        *value = integral(limit).unwrap_or_else(|| limit.into());
        return Ok(());
    }
    let side = if rule == "maximum" { "at most" } else { "at least" };
    let error = format!("`{place}` is {value}; {side} {limit} is allowed");
    let whole = |number: f64| integral(number).and_then(|value| value.as_u64());
    Err(refuse(
        place,
        rule,
        error,
        Details { limit: whole(limit), actual: whole(number), ..Details::default() },
    ))
}

pub(super) fn no_such_word(text: &str, words: &[Box<str>], place: Place<'_>) -> Refusal {
    let nearest = nearest(text, words.iter().map(|word| &**word));
    let error = format!("`{place}` must be one of: {}", words.join(", "));
    let allowed = words.iter().map(|word| word.to_string()).collect();
    refuse(place, "enum", error, Details { allowed, did_you_mean: nearest, ..Details::default() })
}

/// The nearest right word, if it is near enough to have been meant.
pub(crate) fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<String> {
    // Nobody means a field with a name this long, and the distance costs the product of both lengths.
    if word.len() > 64 {
        return None;
    }
    let lower = word.to_lowercase();
    let far = (word.chars().count() / 3).max(1);
    words
        .map(|other| (strsim::osa_distance(&lower, other), other))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, other)| other.to_owned())
}

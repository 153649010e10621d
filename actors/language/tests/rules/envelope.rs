//! Rows about envelopes: what may be sent at all. First the shape (the envelope's own schema, read by the smallest
//! validator that can read it), then [`Envelope::check`].
//!
//! `{json} -> ok` or `{json} -> refused field rule`. In a text, `x*501` is five hundred and one `x`; in a list,
//! `[element, "*9"]` is nine of that element; in an object, `{"*17": value}` is seventeen keys.

use parley_language::envelope::Envelope;
use parley_language::{Reason, Refusal};
use serde_json::{Value, json};

use crate::RULES;
use crate::table::{Outcome, Row};

pub(crate) fn check(row: &Row) -> Result<Outcome, String> {
    let text = row.left.join(" ");
    let sent = grown(
        &serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", row.place)),
    );
    let schema = schemars::schema_for!(Envelope).to_value();
    let refusal =
        shape(&schema, "", &sent).map_err(|(field, rule)| (field, rule, None)).and_then(|()| {
            let envelope: Envelope =
                serde_json::from_value(sent).expect("what has the shape can be read");
            envelope.check().map(drop).map_err(|refusal| {
                let field = refusal.details.as_ref().and_then(|details| details.field.clone());
                (
                    field.unwrap_or_default(),
                    rule_of(&refusal).unwrap_or("no rule").to_string(),
                    Some(refusal),
                )
            })
        });
    let given = match &refusal {
        Ok(()) => "ok".to_string(),
        Err((field, rule, _)) => format!("refused {field} {rule}"),
    };
    if given != row.right.join(" ") {
        return Err(given);
    }
    let refusal = refusal.err().and_then(|(_, _, refusal)| refusal);
    let rule = refusal.as_ref().and_then(rule_of);
    match &refusal {
        Some(refusal) if refusal.reason != Reason::InvalidBody => {
            Err(format!("refused {}", refusal.reason))
        }
        _ => Ok(Outcome { reason: refusal.map(|refusal| refusal.reason), rule, over: None }),
    }
}

/// The rule a refusal names, if it is one of the language's.
pub(crate) fn rule_of(refusal: &Refusal) -> Option<&'static str> {
    let rule = refusal.details.as_ref()?.rule.as_ref()?;
    RULES.into_iter().find(|known| known == rule)
}

/// Makes the short notations long.
fn grown(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            match text.rsplit_once('*').and_then(|(one, n)| Some((one, n.parse().ok()?))) {
                Some((one, count)) => json!(one.repeat(count)),
                None => value.clone(),
            }
        }
        Value::Array(list) => match &**list {
            [element, Value::String(count)] if count.starts_with('*') => {
                json!(vec![grown(element); count[1..].parse().expect("a count")])
            }
            list => list.iter().map(grown).collect(),
        },
        Value::Object(object) => object
            .iter()
            .flat_map(|(key, value)| {
                match key.strip_prefix('*').and_then(|count| count.parse::<usize>().ok()) {
                    Some(count) => {
                        (0..count).map(|n| (format!("key{n}"), grown(value))).collect::<Vec<_>>()
                    }
                    None => vec![(key.clone(), grown(value))],
                }
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

type No = (String, String);

/// The words of JSON Schema that the envelope uses; another word is a mistake of this function.
fn shape(schema: &Value, path: &str, value: &Value) -> Result<(), No> {
    let Value::Object(words) = schema else { return Ok(()) };
    let no = |rule: &str| Err((path.to_string(), rule.to_string()));
    if let Some(choices) = words.get("anyOf").and_then(Value::as_array) {
        let mut tried: Vec<No> = Vec::new();
        for choice in choices {
            match shape(choice, path, value) {
                Ok(()) => return Ok(()),
                Err(why) => tried.push(why),
            }
        }
        return Err(tried.swap_remove(0));
    }
    let is_id = words.get("format").is_some_and(|format| format == "parley-id");
    let value = &if is_id && value.is_u64() { json!(value.to_string()) } else { value.clone() };
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(list) => list.len(),
        Value::Object(object) => object.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    let bound =
        |bound: &Value| usize::try_from(bound.as_u64().expect("a bound")).expect("a small bound");
    if let Some(types) = words.get("type") {
        let types = types.as_array().map_or_else(|| vec![types.clone()], Clone::clone);
        if !types.contains(&json!(type_of(value))) {
            return no("type");
        }
    }
    if value.is_null() {
        return Ok(());
    }
    for (word, meant) in words {
        match word.as_str() {
            "minLength" | "minItems" if length < bound(meant) => return no(word),
            "maxLength" | "maxItems" | "maxProperties" if length > bound(meant) => return no(word),
            "minLength" | "minItems" | "maxLength" | "maxItems" | "maxProperties" => {}
            "enum" if !meant.as_array().is_some_and(|all| all.contains(value)) => return no(word),
            "const" if value != meant => return no("enum"),
            "oneOf"
                if !meant
                    .as_array()
                    .is_some_and(|all| all.iter().any(|one| one["const"] == *value)) =>
            {
                return no("enum");
            }
            "pattern"
                if !fits(
                    meant.as_str().unwrap_or_default(),
                    value.as_str().unwrap_or_default(),
                ) =>
            {
                return no(word);
            }
            "required" => {
                for name in meant.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if value.get(name).is_none() {
                        return Err((under(path, name), "required".into()));
                    }
                }
            }
            "items" => {
                for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                    shape(meant, &format!("{path}[{at}]"), item)?;
                }
            }
            "additionalProperties" if meant.is_object() => {
                for (name, item) in value.as_object().into_iter().flatten() {
                    shape(meant, &under(path, name), item)?;
                }
            }
            "properties" => {
                for (name, item) in value.as_object().into_iter().flatten() {
                    match meant.get(name) {
                        Some(meant) => shape(meant, &under(path, name), item)?,
                        None => {
                            return Err((
                                under(path, name),
                                unknown(words.get("x-server-set"), name),
                            ));
                        }
                    }
                }
            }
            "type"
            | "description"
            | "title"
            | "default"
            | "format"
            | "$schema"
            | "x-server-set"
            | "x-is"
            | "x-rules"
            | "enum"
            | "const"
            | "oneOf"
            | "pattern"
            | "additionalProperties" => {}
            other => panic!("the schema says `{other}` and nobody reads it"),
        }
    }
    Ok(())
}

fn unknown(server_set: Option<&Value>, name: &str) -> String {
    let set =
        server_set.and_then(Value::as_array).is_some_and(|names| names.contains(&json!(name)));
    if set { "server_set".into() } else { "unknown".into() }
}

fn under(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The patterns of ids: `^(th_)?[1-9][0-9]{0,18}$`, with the prefixes of this one.
fn fits(pattern: &str, text: &str) -> bool {
    let rest = pattern.strip_prefix("^(").and_then(|rest| rest.strip_suffix("[1-9][0-9]{0,18}$"));
    let Some(prefixes) = rest else {
        panic!("the schema has the pattern {pattern} and nobody reads it")
    };
    let (optional, prefixes) = match prefixes.strip_suffix("_)?") {
        Some(prefix) => (true, prefix),
        None => (false, prefixes.strip_suffix(")_").expect("a list of prefixes")),
    };
    let number = match text.split_once('_') {
        Some((prefix, number)) if prefixes.split('|').any(|one| one == prefix) => number,
        None if optional => text,
        Some(_) | None => return false,
    };
    (1..=19).contains(&number.len())
        && !number.starts_with('0')
        && number.bytes().all(|b| b.is_ascii_digit())
}

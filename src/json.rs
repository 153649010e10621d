//! JSON from outside, read strictly: each key once, at any depth.
//!
//! serde_json keeps the last of two equal keys, so two readers of one body could disagree about it. It does the rest:
//! UTF-8, depth (128), numbers in range. NUL in a text is allowed here; the language refuses it.

use std::fmt;

use parley_language::reason::{Reason, Refusal};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Why bytes are not JSON as we read it.
#[derive(Debug)]
pub enum NotJson {
    /// The bytes are no JSON at all.
    Syntax(serde_json::Error),
    /// An object has the same key twice.
    Duplicate(serde_json::Error),
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Syntax(error) | Self::Duplicate(error)) = self;
        error.fmt(f)
    }
}

impl From<NotJson> for Refusal {
    fn from(error: NotJson) -> Self {
        Self::new(
            Reason::InvalidJson,
            format!("the body is not valid JSON: {error}; send one object, each key once"),
        )
    }
}

/// Reads one JSON value and nothing after it.
///
/// # Errors
/// Anything that is not JSON, and equal keys in one object.
pub fn parse(bytes: &[u8]) -> Result<Value, NotJson> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    Strict
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        // Only our own visitor makes errors of the data category here: everything else is syntax.
        .map_err(
            |error| {
                if error.is_data() { NotJson::Duplicate(error) } else { NotJson::Syntax(error) }
            },
        )
}

/// The bytes without a leading byte order mark.
pub fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if members.contains_key(&key) {
                return Err(de::Error::custom(format_args!("the key {key:?} stands twice")));
            }
            let value = access.next_value_seed(Self)?;
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_as_it_stands() {
        let text = r#"{"a":[1,-2,2.5,true,null,"žluť 🎉 \u0000"],"b":{"a":{}}}"#;
        assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn equal_keys_are_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"a":2}}]"#, r#"{"a":1,"\u0061":2}"#] {
            assert!(matches!(parse(text.as_bytes()), Err(NotJson::Duplicate(_))), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(200);
        let texts: [&[u8]; 10] = [
            b"",
            b" ",
            b"{",
            b"{} x",
            b"NaN",
            b"1e400",
            b"\"\xFF\"",
            br#""\ud800""#,
            b"\xEF\xBB\xBF{}",
            deep.as_bytes(),
        ];
        for text in texts {
            assert!(matches!(parse(text), Err(NotJson::Syntax(_))), "{text:?}");
        }
        assert!(parse(without_bom(b"\xEF\xBB\xBF{}")).is_ok());
    }
}

use parley_language::BoardId;
use parley_language::envelope::Envelope;
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::*;

/// Everything at once.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Everything {
    /// A board.
    id: BoardId,
    /// An optional enum.
    kind: Option<parley_language::words::Kind>,
    /// A number.
    count: Option<u32>,
    /// A page.
    #[schemars(range(min = 1, max = 100), extend("x-clamp" = true))]
    limit: Option<u64>,
    /// Inside.
    inner: Option<Inner>,
    /// A title, like the schema's own.
    title: Option<String>,
    /// Anything by name.
    free: Option<serde_json::Map<String, Value>>,
}

/// Inside.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Inner {
    /// A fraction.
    #[schemars(range(min = 0.5, max = 1.5))]
    part: f64,
    /// A switch.
    on: Option<bool>,
}

/// Walks a schema: every client must understand it.
fn is_plain(schema: &Value, at: &str) {
    let map = schema.as_object().expect("no boolean schemas");
    for name in ["$ref", "$defs", "$schema", "anyOf", "oneOf", "allOf", "const"] {
        assert!(!map.contains_key(name), "{at}: {name}");
    }
    assert!(map["type"].is_string(), "{at}: {schema}");
    assert!(map.get("default") != Some(&Value::Null), "{at}");
    if map["type"] == "object" {
        assert!(map.contains_key("additionalProperties"), "{at} is open");
    }
    if map["type"] == "array" {
        is_plain(&map["items"], at);
    }
    for (name, inner) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        assert!(inner["description"].is_string(), "{at}.{name} says nothing");
        is_plain(inner, &format!("{at}.{name}"));
    }
}

#[test]
fn schemas_are_plain() {
    is_plain(&schema::input::<Envelope>(), "envelope");
    let everything = schema::input::<Everything>();
    is_plain(&everything, "everything");
    assert_eq!(everything["properties"]["kind"]["enum"][0], "ask");
    assert_eq!(everything["properties"]["kind"]["description"], "An optional enum.");
    assert_eq!(everything["required"], json!(["id"]));
    assert_eq!(everything["properties"]["title"]["type"], "string");
    assert_eq!(
        schema::input::<()>(),
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
}

fn everything(manner: Manner, mut input: Value) -> Result<Value, (String, String)> {
    let shape = Shape::new(&schema::input::<Everything>());
    match shape.check(&mut input, manner) {
        Ok(()) => Ok(input),
        Err(refusal) => {
            let details = refusal.details.unwrap();
            Err((details.field.unwrap_or_default(), details.rule.unwrap().into_owned()))
        }
    }
}

#[test]
fn an_input_is_brought_into_form() {
    use Manner::{Lenient, Strict};
    let cases = [
        (Strict, json!({"id": "lobby", "kind": null, "inner": null}), json!({"id": "lobby"})),
        (Strict, json!({"id": 3, "limit": 0}), json!({"id": "3", "limit": 1})),
        (Strict, json!({"id": 3, "limit": 1e30}), json!({"id": "3", "limit": 100})),
        (
            Strict,
            json!({"id": "1", "free": {"a": null, "b": [1]}}),
            json!({"id": "1", "free": {"a": null, "b": [1]}}),
        ),
        (
            Lenient,
            json!({"id": 3.0, "count": "4294967295"}),
            json!({"id": "3", "count": 4_294_967_295_u32}),
        ),
        (
            Lenient,
            json!({"id": "a", "limit": "-5", "inner": "{\"part\":\"1\",\"on\":\"false\"}"}),
            json!({"id": "a", "limit": 1, "inner": {"part": 1, "on": false}}),
        ),
    ];
    for (manner, input, expected) in cases {
        assert_eq!(everything(manner, input.clone()), Ok(expected), "{input}");
    }
}

#[test]
fn the_first_fault_in_order_is_named() {
    use Manner::{Lenient, Strict};
    let cases = [
        (Strict, json!([]), "", "type"),
        (Lenient, json!("{}"), "id", "required"),
        // Names that may not stand there, then names that are missing, then members by name.
        (Strict, json!({"zzz": 1, "kind": 5}), "zzz", "unknown_field"),
        (Strict, json!({"kind": 5}), "id", "required"),
        (Strict, json!({"id": "A", "count": "x"}), "count", "type"),
        (Strict, json!({"id": "A", "count": 1}), "id", "pattern"),
        (Strict, json!({"id": "a", "count": -1}), "count", "minimum"),
        (Strict, json!({"id": "a", "count": 2.5}), "count", "type"),
        (Strict, json!({"id": "a", "limit": 2.5}), "limit", "type"),
        (Lenient, json!({"id": "a", "limit": "2.5"}), "limit", "type"),
        (Lenient, json!({"id": "a", "limit": ""}), "limit", "type"),
        (Strict, json!({"id": "a", "inner": {"part": 2}}), "inner.part", "maximum"),
        (
            Strict,
            json!({"id": "a", "inner": {"part": 1, "onn": true}}),
            "inner.onn",
            "unknown_field",
        ),
        (Strict, json!({"id": "a", "inner": {"part": 1, "on": "true"}}), "inner.on", "type"),
        (Strict, json!({"id": 0}), "id", "pattern"),
        (Strict, json!({"id": -1}), "id", "type"),
        (Strict, json!({"id": true}), "id", "type"),
    ];
    for (manner, input, field, rule) in cases {
        assert_eq!(everything(manner, input.clone()), Err((field.into(), rule.into())), "{input}");
    }
}

#[test]
fn the_nearest_word_is_only_named_when_it_is_near() {
    let words = ["body", "kind", "parent"];
    let of = |word: &str| nearest(word, words.into_iter());
    assert_eq!(of("bdoy").as_deref(), Some("body"));
    assert_eq!(of("KIND").as_deref(), Some("kind"));
    assert_eq!(of("zzz"), None);
    assert_eq!(of(&"x".repeat(1000)), None);
}

#[test]
fn examples_pass_their_own_shape() {
    for schema in [schema::input::<Envelope>(), schema::input::<Everything>()] {
        let mut example = schema::example(&schema);
        assert_eq!(Shape::new(&schema).check(&mut example, Manner::Strict), Ok(()), "{example}");
    }
}

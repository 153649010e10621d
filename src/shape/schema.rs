//! JSON schemas as schemars makes them, brought into the plain form every client understands: no `$ref`, no type
//! unions, no combinators, objects closed (mcp.md, section 3: tool definitions).

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The plain schema of an input.
pub(crate) fn input<I: JsonSchema>() -> Value {
    let mut schema = generate::<I>(SchemaSettings::draft2020_12().for_deserialize());
    plain(&mut schema);
    if let Value::Object(root) = &mut schema {
        // The unit type, for "no input", has the schema of null.
        if root.get("type") != Some(&json!("object")) {
            root.insert("type".into(), json!("object"));
        }
        close(root);
    }
    schema
}

/// The same schema without what only the documents say.
pub(crate) fn without_notes(schema: &Value) -> Value {
    let mut schema = schema.clone();
    forget_notes(&mut schema);
    schema
}

fn forget_notes(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    map.remove("x-is");
    map.remove("x-rules");
    each_subschema(map, forget_notes);
}

/// The schema of an output, as it is sent; nullable members stay nullable.
pub(crate) fn output<O: JsonSchema>() -> Value {
    generate::<O>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    untitle(&mut schema);
    schema
}

/// Titles repeat the names of Rust types, which are nobody's business outside.
fn untitle(schema: &mut Value) {
    if let Value::Object(map) = schema {
        // A property that is called "title" holds a schema, not a text.
        if map.get("title").is_some_and(Value::is_string) {
            map.remove("title");
        }
        each_subschema(map, untitle);
        for branches in ["anyOf", "oneOf", "allOf"] {
            for branch in map.get_mut(branches).and_then(Value::as_array_mut).into_iter().flatten()
            {
                untitle(branch);
            }
        }
        for definition in map.get_mut("$defs").and_then(Value::as_object_mut).into_iter().flatten()
        {
            untitle(definition.1);
        }
    }
}

fn each_subschema(map: &mut Map<String, Value>, mut visit: impl FnMut(&mut Value)) {
    for member in map.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        visit(member.1);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(schema) = map.get_mut(inner) {
            visit(schema);
        }
    }
}

fn plain(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    not_null(map);
    words(map);
    if map.get("default").is_some_and(is_nothing) {
        map.remove("default");
    }
    if map.get("type") == Some(&json!("integer")) {
        // `uint32` and the like are Rust's; the bounds say it.
        map.remove("format");
    }
    each_subschema(map, plain);
    if map.get("type") == Some(&json!("object")) {
        close(map);
    }
}

/// Takes `null` out: what is optional is left out, or its null counts as left out.
fn not_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(words)) = map.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type") != Some(&json!("null")));
        if branches.len() == 1
            && let Some(Value::Object(only)) = branches.pop()
        {
            map.remove("anyOf");
            for (name, value) in only {
                // What the field says about itself wins over what its type says.
                map.entry(name).or_insert(value);
            }
        }
    }
}

/// Makes the documented variants of an enum, `oneOf` of constants, one `enum` of words.
fn words(map: &mut Map<String, Value>) {
    if let Some(only) = map.remove("const") {
        map.insert("enum".into(), json!([only]));
    }
    let Some(Value::Array(branches)) = map.get("oneOf") else { return };
    let mut all = Vec::new();
    for branch in branches {
        match (branch.get("const"), branch.get("enum")) {
            (Some(word), _) => all.push(word.clone()),
            (None, Some(Value::Array(some))) => all.extend(some.iter().cloned()),
            _ => return,
        }
    }
    map.remove("oneOf");
    map.insert("type".into(), json!("string"));
    map.insert("enum".into(), Value::Array(all));
}

fn close(map: &mut Map<String, Value>) {
    if !map.contains_key("additionalProperties") {
        map.insert("additionalProperties".into(), json!(false));
        map.entry("properties").or_insert_with(|| json!({}));
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A value of this shape, for documentation.
pub(crate) fn example(schema: &Value) -> Value {
    if let Some(Value::Array(examples)) = schema.get("examples")
        && let Some(first) = examples.first()
    {
        return first.clone();
    }
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(Value::Array(words)) = schema.get("enum") {
        return words.first().cloned().unwrap_or_default();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let required = schema.get("required").and_then(Value::as_array);
            let members = required.into_iter().flatten().filter_map(Value::as_str).map(|name| {
                (
                    name.to_owned(),
                    example(schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null)),
                )
            });
            Value::Object(members.collect())
        }
        Some("array") => {
            schema.get("items").map_or_else(|| json!([]), |items| json!([example(items)]))
        }
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("string") => json!(example_text(schema.get("pattern").and_then(Value::as_str))),
        _ => json!({}),
    }
}

fn example_text(pattern: Option<&str>) -> String {
    let Some(pattern) = pattern else { return "…".into() };
    let prefix: String =
        pattern.trim_start_matches("^(").chars().take_while(char::is_ascii_lowercase).collect();
    if prefix.is_empty() { "lobby".into() } else { format!("{prefix}_12") }
}

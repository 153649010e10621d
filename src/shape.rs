//! An operation's input schema as a validator: says yes, or names the first field that is wrong and how.
//!
//! Compiled once from the plain schema, walked for every call. It knows lengths, words, ranges and names; what an
//! input means is the language's affair. The order is fixed: in each object first names that may not stand there, then
//! names that are missing, then each member, in the order of their names.

mod pattern;
mod refuse;
pub(crate) mod schema;
mod text;

use std::fmt;

use parley_language::Refusal;
use parley_language::reason::Details;
use parley_language::text::is_blank;
use serde_json::{Map, Value};

use pattern::Pattern;
use refuse::{
    bound, check_id, check_number, check_text, has_nul, no_such_word, refuse, shows_nothing,
};
pub(crate) use refuse::{nearest, refuse_field};
use text::{integral, json_in, number_in};

/// Ids from here on are only taken as texts: as numbers, not every reader of JSON keeps them apart.
const EXACT_IDS: u64 = 1 << 53;

/// How literally an input is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// As it stands: a JSON body over HTTP.
    Strict,
    /// A text may stand for what the schema asks: models and addresses write `"2"` for 2.
    Lenient,
}

/// One compiled schema.
#[derive(Debug)]
pub struct Shape(Kind);

#[derive(Debug)]
enum Kind {
    Any,
    Boolean,
    Text { min: u64, max: u64, pattern: Option<Pattern>, id: bool, shown: bool },
    Words(Vec<Box<str>>),
    Number { integer: bool, min: Option<f64>, max: Option<f64>, clamp: bool },
    List { items: Box<Shape>, min: u64, max: u64 },
    Object(Object),
}

#[derive(Debug)]
struct Object {
    /// In the order of their names.
    members: Vec<Member>,
    server_set: Vec<Box<str>>,
    others: Others,
    max: u64,
}

#[derive(Debug)]
struct Member {
    name: Box<str>,
    shape: Shape,
    required: bool,
}

#[derive(Debug)]
enum Others {
    Refused,
    Each(Box<Shape>),
}

/// Where in the input we are, without allocating anything as long as all is well.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

impl Shape {
    /// Compiles a plain schema.
    ///
    /// # Panics
    /// On a pattern outside the subset that `pattern.rs` knows: a mistake in an input type, found at every start.
    pub fn new(schema: &Value) -> Self {
        let bound = |name: &str, or: u64| schema.get(name).and_then(Value::as_u64).unwrap_or(or);
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or(false);
        if let Some(Value::Array(words)) = schema.get("enum") {
            return Self(Kind::Words(
                words.iter().filter_map(Value::as_str).map(Box::from).collect(),
            ));
        }
        let kind = match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => Kind::Boolean,
            Some(name @ ("integer" | "number")) => Kind::Number {
                integer: name == "integer",
                min: schema.get("minimum").and_then(Value::as_f64),
                max: schema.get("maximum").and_then(Value::as_f64),
                clamp: flag("x-clamp"),
            },
            Some("string") => Kind::Text {
                min: bound("minLength", 0),
                max: bound("maxLength", u64::MAX),
                pattern: schema.get("pattern").and_then(Value::as_str).map(|source| {
                    Pattern::new(source)
                        .unwrap_or_else(|| panic!("the pattern {source} is outside our subset"))
                }),
                id: schema.get("format").and_then(Value::as_str) == Some("parley-id"),
                shown: schema.get("x-is").and_then(Value::as_str) == Some("shown"),
            },
            Some("array") => Kind::List {
                items: Box::new(schema.get("items").map_or(Self(Kind::Any), Self::new)),
                min: bound("minItems", 0),
                max: bound("maxItems", u64::MAX),
            },
            Some("object") => Kind::Object(Object::new(schema, bound("maxProperties", u64::MAX))),
            _ => Kind::Any,
        };
        Self(kind)
    }

    /// Whether the root has this member.
    pub fn has(&self, name: &str) -> bool {
        self.object().is_some_and(|object| object.member(name).is_some())
    }

    /// Whether only the server sets this name at the root.
    pub fn is_server_set(&self, name: &str) -> bool {
        self.object().is_some_and(|object| object.server_set.iter().any(|other| **other == *name))
    }

    /// A text of an address as the value its member asks for; as it is if that cannot be.
    pub fn value_of_text(&self, name: &str, text: String) -> Value {
        let mut value = Value::String(text);
        if let Some(member) = self.object().and_then(|object| object.member(name)) {
            member.shape.coerce(&mut value);
        }
        value
    }

    /// Checks an input, and brings it into form: nulls of optional members go, numbers are clamped where the schema
    /// says so, and in the lenient manner texts become what the schema asks for.
    ///
    /// # Errors
    /// `invalid_body` with the first field that is wrong.
    pub fn check(&self, input: &mut Value, manner: Manner) -> Result<(), Refusal> {
        self.walk(input, manner, Place::Root)
    }

    fn object(&self) -> Option<&Object> {
        match &self.0 {
            Kind::Object(object) => Some(object),
            Kind::Any
            | Kind::Boolean
            | Kind::Text { .. }
            | Kind::Words(_)
            | Kind::Number { .. }
            | Kind::List { .. } => None,
        }
    }

    fn walk(&self, value: &mut Value, manner: Manner, place: Place<'_>) -> Result<(), Refusal> {
        // JSON has one kind of number: 2.0 is the integer 2.
        if manner == Manner::Lenient || value.is_f64() {
            self.coerce(value);
        }
        match &self.0 {
            Kind::Any => Ok(()),
            Kind::Boolean if value.is_boolean() => Ok(()),
            Kind::Text { min, max, pattern, id, shown } => {
                if let (true, Some(number)) = (*id, value.as_u64().filter(|id| *id < EXACT_IDS)) {
                    // Ids are texts from here on, so that every reader of the input finds one spelling.
                    *value = Value::String(number.to_string());
                }
                match value {
                    Value::String(text) => {
                        check_text(text, (*min, *max), pattern.as_ref(), place)?;
                        if *shown && is_blank(text) {
                            return Err(shows_nothing(place));
                        }
                        if *id { check_id(text, pattern.as_ref(), place) } else { Ok(()) }
                    }
                    _ => Err(self.wrong_type(place)),
                }
            }
            Kind::Words(words) => match value {
                Value::String(text) if words.iter().any(|word| **word == **text) => Ok(()),
                Value::String(text) => Err(no_such_word(text, words, place)),
                _ => Err(self.wrong_type(place)),
            },
            Kind::Number { integer, min, max, clamp } => {
                let good =
                    if *integer { value.is_i64() || value.is_u64() } else { value.is_number() };
                let huge =
                    *clamp && value.as_f64().is_some_and(|number| number.abs() > text::EXACT);
                if !good && !huge {
                    return Err(self.wrong_type(place));
                }
                check_number(value, *min, *max, *clamp, place)
            }
            Kind::List { items, min, max } => {
                let Value::Array(list) = value else { return Err(self.wrong_type(place)) };
                let count = list.len() as u64;
                if count < *min || count > *max {
                    let (rule, limit) =
                        if count < *min { ("min_items", *min) } else { ("max_items", *max) };
                    return Err(bound(place, rule, limit, count, "entries"));
                }
                for (at, item) in list.iter_mut().enumerate() {
                    items.walk(item, manner, Place::Item(&place, at))?;
                }
                Ok(())
            }
            Kind::Object(object) => match value {
                Value::Object(map) => object.walk(map, manner, place),
                _ => Err(self.wrong_type(place)),
            },
            Kind::Boolean => Err(self.wrong_type(place)),
        }
    }

    /// Makes of a text what the schema asks for, if the text says it without doubt.
    fn coerce(&self, value: &mut Value) {
        let read = match (&self.0, &*value) {
            (Kind::Boolean, Value::String(text)) => match text.trim() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            (Kind::Number { integer, clamp, .. }, Value::String(text)) => {
                let text = text.trim();
                // What is clamped may be too large for any integer.
                number_in(text, *integer)
                    .or_else(|| clamp.then(|| number_in(text, false)).flatten())
            }
            (
                Kind::Number { integer: true, .. } | Kind::Text { id: true, .. },
                Value::Number(number),
            ) => {
                if number.is_f64() {
                    number.as_f64().and_then(integral)
                } else {
                    None
                }
            }
            (Kind::List { .. }, Value::String(text)) => json_in(text, '['),
            (Kind::Object(_), Value::String(text)) => json_in(text, '{'),
            _ => None,
        };
        if let Some(read) = read {
            *value = read;
        }
    }

    fn type_name(&self) -> &'static str {
        match &self.0 {
            Kind::Any => "any",
            Kind::Boolean => "boolean",
            Kind::Text { .. } | Kind::Words(_) => "string",
            Kind::Number { integer: true, .. } => "integer",
            Kind::Number { integer: false, .. } => "number",
            Kind::List { .. } => "array",
            Kind::Object(_) => "object",
        }
    }

    fn wrong_type(&self, place: Place<'_>) -> Refusal {
        let name = self.type_name();
        let article = if matches!(name, "integer" | "array" | "object") { "an" } else { "a" };
        let error = match place {
            Place::Root => format!("the input must be {article} {name}"),
            Place::Member(..) | Place::Item(..) => format!("`{place}` must be {article} {name}"),
        };
        refuse(place, "type", error, Details { allowed: vec![name.into()], ..Details::default() })
    }
}

impl Object {
    fn new(schema: &Value, max: u64) -> Self {
        let names = |list: &str| -> Vec<Box<str>> {
            let list = schema.get(list).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(Box::from).collect()
        };
        let required = names("required");
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut members: Vec<Member> = properties
            .map(|(name, schema)| Member {
                name: name.as_str().into(),
                shape: Shape::new(schema),
                required: required.iter().any(|other| **other == **name),
            })
            .collect();
        members.sort_by(|one, other| one.name.cmp(&other.name));
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => Others::Refused,
            Some(Value::Bool(true)) | None => Others::Each(Box::new(Shape(Kind::Any))),
            Some(schema) => Others::Each(Box::new(Shape::new(schema))),
        };
        Self { members, server_set: names("x-server-set"), others, max }
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members
            .binary_search_by(|member| (*member.name).cmp(name))
            .ok()
            .map(|at| &self.members[at])
    }

    fn walk(
        &self,
        map: &mut Map<String, Value>,
        manner: Manner,
        place: Place<'_>,
    ) -> Result<(), Refusal> {
        if let Others::Refused = self.others {
            for name in map.keys() {
                if self.member(name).is_none() {
                    return Err(self.may_not_stand(name, place));
                }
            }
        }
        let count = map.len() as u64;
        if count > self.max {
            return Err(bound(place, "max_properties", self.max, count, "members"));
        }
        if map.values().any(Value::is_null) {
            map.retain(|name, value| !(value.is_null() && self.member(name).is_some()));
        }
        for member in self.members.iter().filter(|member| member.required) {
            if !map.contains_key(&*member.name) {
                let place = Place::Member(&place, &member.name);
                let error = format!("`{place}` is missing; send it");
                return Err(refuse(place, "required", error, Details::default()));
            }
        }
        if let Some(name) = map.keys().find(|name| name.contains('\0')) {
            return Err(has_nul(Place::Member(&place, name)));
        }
        for (name, value) in map.iter_mut() {
            let shape = match (self.member(name), &self.others) {
                (Some(member), _) => &member.shape,
                (None, Others::Each(shape)) => shape,
                (None, Others::Refused) => continue,
            };
            shape.walk(value, manner, Place::Member(&place, name))?;
        }
        Ok(())
    }

    fn may_not_stand(&self, name: &str, place: Place<'_>) -> Refusal {
        let place = Place::Member(&place, name);
        if self.server_set.iter().any(|other| **other == *name) {
            let error = format!("`{place}` is set by the server; leave it out");
            return refuse(place, "server_set", error, Details::default());
        }
        let nearest = nearest(name, self.members.iter().map(|member| &*member.name));
        let error = match &nearest {
            Some(nearest) => format!("there is no field `{place}`; did you mean `{nearest}`?"),
            None => format!("there is no field `{place}` here; leave it out"),
        };
        let allowed = self.members.iter().map(|member| member.name.to_string()).collect();
        refuse(
            place,
            "unknown_field",
            error,
            Details { allowed, did_you_mean: nearest, ..Details::default() },
        )
    }
}

#[cfg(test)]
mod tests;

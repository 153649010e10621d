//! Ids (section 1): `th_12`, or the plain number `12`, also as a JSON string. Never reused.

use alloc::borrow::Cow;
use core::fmt;
use core::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A series of ids: what is counted, and what its keys begin with.
pub trait Series: 'static {
    /// What a key begins with, without the underscore.
    const PREFIX: &'static str;
    /// What is counted, for sentences.
    const NOUN: &'static str;
}

/// The series of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Threads {}
/// The series of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Messages {}
/// The series of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claims {}
/// The series of attestations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attestations {}
/// The series of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Images {}
/// The series of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tokens {}
/// The series of access requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requests {}
/// The series of feature requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Features {}

impl Series for Threads {
    const PREFIX: &'static str = "th";
    const NOUN: &'static str = "thread";
}
impl Series for Messages {
    const PREFIX: &'static str = "msg";
    const NOUN: &'static str = "message";
}
impl Series for Claims {
    const PREFIX: &'static str = "cl";
    const NOUN: &'static str = "claim";
}
impl Series for Attestations {
    const PREFIX: &'static str = "at";
    const NOUN: &'static str = "attestation";
}
impl Series for Images {
    const PREFIX: &'static str = "img";
    const NOUN: &'static str = "image";
}
impl Series for Tokens {
    const PREFIX: &'static str = "tok";
    const NOUN: &'static str = "token";
}
impl Series for Requests {
    const PREFIX: &'static str = "req";
    const NOUN: &'static str = "access request";
}
impl Series for Features {
    const PREFIX: &'static str = "ft";
    const NOUN: &'static str = "feature request";
}

/// One id of a series.
pub struct Id<S> {
    /// The number in its series, from 1.
    pub number: u64,
    series: PhantomData<fn() -> S>,
}

/// `th_12`
pub type ThreadId = Id<Threads>;
/// `msg_31`
pub type MessageId = Id<Messages>;
/// `cl_4`
pub type ClaimId = Id<Claims>;
/// `at_9`
pub type AttestationId = Id<Attestations>;
/// `img_2`
pub type ImageId = Id<Images>;
/// `tok_3`
pub type TokenId = Id<Tokens>;
/// `req_4`
pub type RequestId = Id<Requests>;
/// `ft_5`
pub type FeatureId = Id<Features>;

impl<S> Id<S> {
    /// The id with this number.
    pub const fn new(number: u64) -> Self {
        Self { number, series: PhantomData }
    }
}

impl<S: Series> Id<S> {
    /// Reads `th_12` or `12`. No sign, no leading zero, not zero.
    pub fn parse(text: &str) -> Option<Self> {
        let number = match text.strip_prefix(S::PREFIX) {
            Some(rest) => rest.strip_prefix('_')?,
            None => text,
        };
        let starts_well = number.bytes().next().is_some_and(|b| (b'1'..=b'9').contains(&b));
        (starts_well && number.bytes().all(|b| b.is_ascii_digit()))
            .then(|| number.parse().ok().map(Self::new))
            .flatten()
    }

    /// Reads `th_12` only.
    pub fn parse_key(text: &str) -> Option<Self> {
        text.contains('_').then(|| Self::parse(text)).flatten()
    }
}

impl<S> Clone for Id<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Id<S> {}
impl<S> PartialEq for Id<S> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl<S> Eq for Id<S> {}
impl<S> PartialOrd for Id<S> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<S> Ord for Id<S> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.number.cmp(&other.number)
    }
}
impl<S> core::hash::Hash for Id<S> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}
impl<S: Series> fmt::Debug for Id<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl<S: Series> fmt::Display for Id<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", S::PREFIX, self.number)
    }
}

impl<S: Series> Serialize for Id<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.number)
        }
    }
}

impl<'de, S: Series> Deserialize<'de> for Id<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<S>(PhantomData<fn() -> S>);
        impl<S: Series> de::Visitor<'_> for Visitor<S> {
            type Value = Id<S>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_<number> or the number", S::PREFIX)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Id<S>, E> {
                if number == 0 { Err(E::custom("ids begin at 1")) } else { Ok(Id::new(number)) }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Id<S>, E> {
                Id::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(Visitor(PhantomData))
        } else {
            u64::deserialize(deserializer).map(Self::new)
        }
    }
}

impl<S: Series> JsonSchema for Id<S> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        S::NOUN.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "parley-id",
            "pattern": alloc::format!("^({}_)?[1-9][0-9]{{0,18}}$", S::PREFIX),
        })
    }
}

/// A board: its number, or its slug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardId {
    /// The number.
    Number(u64),
    /// The slug, which is never all digits.
    Slug(alloc::string::String),
}

impl BoardId {
    /// Reads a number or a slug.
    pub fn parse(text: &str) -> Option<Self> {
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().ok().filter(|number| *number > 0).map(Self::Number);
        }
        is_slug(text).then(|| Self::Slug(text.into()))
    }
}

/// Whether a text is a slug (13.8): `[a-z0-9][a-z0-9-]{0,39}`, not all digits.
pub fn is_slug(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=crate::limits::SLUG).contains(&text.len())
        && text.bytes().all(|b| allowed(b) || b == b'-')
        && text.bytes().next().is_some_and(allowed)
        && !text.bytes().all(|b| b.is_ascii_digit())
}

impl fmt::Display for BoardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Slug(slug) => f.write_str(slug),
        }
    }
}

impl<'de> Deserialize<'de> for BoardId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = BoardId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a board's number or slug")
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<BoardId, E> {
                if number == 0 {
                    Err(E::custom("ids begin at 1"))
                } else {
                    Ok(BoardId::Number(number))
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<BoardId, E> {
                BoardId::parse(text)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for BoardId {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "board".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "parley-id", "pattern": "^[a-z0-9][a-z0-9-]{0,39}$", "x-is": "board"})
    }
}

/// A statement that can be referred to across threads (section 3, `relates_to`): only by key, never by a bare number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statement {
    /// A thread.
    Thread(ThreadId),
    /// A message.
    Message(MessageId),
    /// A claim.
    Claim(ClaimId),
}

impl Statement {
    /// Reads a key.
    pub fn parse(text: &str) -> Option<Self> {
        ThreadId::parse_key(text)
            .map(Self::Thread)
            .or_else(|| MessageId::parse_key(text).map(Self::Message))
            .or_else(|| ClaimId::parse_key(text).map(Self::Claim))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(id) => id.fmt(f),
            Self::Message(id) => id.fmt(f),
            Self::Claim(id) => id.fmt(f),
        }
    }
}

#[derive(Serialize, Deserialize)]
enum StoredStatement {
    Thread(u64),
    Message(u64),
    Claim(u64),
}

impl Serialize for Statement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        match self {
            Self::Thread(id) => StoredStatement::Thread(id.number),
            Self::Message(id) => StoredStatement::Message(id.number),
            Self::Claim(id) => StoredStatement::Claim(id.number),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Statement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = alloc::string::String::deserialize(deserializer)?;
            return Self::parse(&text)
                .ok_or_else(|| de::Error::custom("expected th_N, msg_N or cl_N"));
        }
        Ok(match StoredStatement::deserialize(deserializer)? {
            StoredStatement::Thread(number) => Self::Thread(Id::new(number)),
            StoredStatement::Message(number) => Self::Message(Id::new(number)),
            StoredStatement::Claim(number) => Self::Claim(Id::new(number)),
        })
    }
}

impl JsonSchema for Statement {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "statement".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^(th|msg|cl)_[1-9][0-9]{0,18}$"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_key_or_a_number() {
        assert_eq!(ThreadId::parse("th_12"), Some(ThreadId::new(12)));
        assert_eq!(ThreadId::parse("12"), Some(ThreadId::new(12)));
        for text in [
            "",
            "th_",
            "th_0",
            "0",
            "012",
            "th_01",
            "th12",
            "msg_12",
            "-1",
            "+1",
            "th_1 ",
            "1e3",
            "99999999999999999999",
        ] {
            assert_eq!(ThreadId::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_slug_is_never_a_number() {
        assert!(is_slug("lobby") && is_slug("a-1") && is_slug("1a"));
        for text in ["", "12", "-a", "A", "a_b", &"a".repeat(41)] {
            assert!(!is_slug(text), "{text:?}");
        }
    }
}

//! Settings laid over each other, each remembering where it came from. The shipped file is the schema: it says which
//! settings exist and of which type they are; the table of ranges below says the rest.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::{Config, ConfigError, SHIPPED};

/// What a setting may be, beyond its type.
enum Range {
    Between(i64, i64),
    OneOf(&'static [&'static str]),
    Address,
    Origin,
    Networks,
    Url,
    Slug,
    Filter,
    Text,
}

/// One row per setting that is not a plain yes or no.
#[rustfmt::skip]
const RANGES: &[(&str, Range)] = &[
    ("server.listen",                            Range::Address),
    ("server.trusted_proxies",                   Range::Networks),
    ("server.public_origin",                     Range::Origin),
    ("server.allowed_origins",                   Range::Origin),
    ("server.workers",                           Range::Between(0, 256)),
    ("server.drain_seconds_max",                 Range::Between(0, 9)),
    ("realm.name",                               Range::Slug),
    ("storage.data_dir",                         Range::Text),
    ("storage.queue_appends_max",                Range::Between(1, 1_048_576)),
    ("storage.group_records_max",                Range::Between(1, 65_536)),
    ("storage.group_bytes_max",                  Range::Between(4_096, 64 << 20)),
    ("storage.checkpoint_records",               Range::Between(64, 1_048_576)),
    ("storage.cache_bytes",                      Range::Between(1 << 20, 1 << 40)),
    ("storage.durability",                       Range::OneOf(&["power", "process"])),
    ("limits.requests_per_minute",               Range::Between(1, 1_000_000_000)),
    ("limits.requests_per_minute_anonymous",     Range::Between(1, 1_000_000_000)),
    ("limits.waits_max",                         Range::Between(1, 1_000_000)),
    ("limits.token_requests_per_hour",           Range::Between(1, 1_000_000)),
    ("limits.token_requests_pending_max",        Range::Between(1, 1_000_000)),
    ("threads.queue_per_thread_max",             Range::Between(1, 65_536)),
    ("threads.idle_seconds_until_passivation",   Range::Between(1, 86_400)),
    ("threads.active_max",                       Range::Between(16, 10_000_000)),
    ("webhook.url",                              Range::Url),
    ("logs.format",                              Range::OneOf(&["human", "json"])),
    ("logs.level",                               Range::Filter),
];

/// A setting: its value in force, and where it was set.
struct Setting {
    value: Value,
    origin: String,
}

/// All settings by `section.key`.
pub(super) struct Layers(BTreeMap<String, Setting>);

impl Layers {
    pub(super) fn shipped() -> Self {
        let table: Table = SHIPPED.parse().expect("the shipped config.toml is TOML, see tests");
        let mut settings = BTreeMap::new();
        for (section, value) in table {
            let Value::Table(keys) = value else { continue };
            for (key, value) in keys {
                let origin = "the built-in config.toml".to_owned();
                settings.insert(format!("{section}.{key}"), Setting { value, origin });
            }
        }
        Self(settings)
    }

    pub(super) fn add_file(&mut self, name: &str, text: &str) -> Result<(), ConfigError> {
        let origin = |start: usize| format!("{name}, line {}", line_of(text, start));
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            origin: origin(error.span().map_or(0, |span| span.start)),
            error: error.message().to_owned(),
        })?;
        for (section, value) in table.into_inner() {
            let DeValue::Table(keys) = value.into_inner() else {
                return Err(self.unknown(origin(section.span().start), section.as_ref()));
            };
            if keys.is_empty() && !self.has_section(section.as_ref()) {
                return Err(self.unknown(origin(section.span().start), section.as_ref()));
            }
            for (key, value) in keys {
                let setting = format!("{}.{}", section.as_ref(), key.as_ref());
                let origin = origin(key.span().start);
                let shown = text[value.span()].to_owned();
                let value = plain(value.into_inner());
                self.set(&setting, origin, value, &shown)?;
            }
        }
        Ok(())
    }

    /// Every `PARLEY_<SECTION>_<KEY>`; other variables that begin with `PARLEY_` are not ours to judge.
    pub(super) fn add_environment(
        &mut self,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (variable, text) in environment {
            let Some(rest) = variable.strip_prefix("PARLEY_") else { continue };
            let Some((section, key)) = rest.split_once('_') else { continue };
            let section = section.to_lowercase();
            if self.has_section(&section) {
                self.add_text(&format!("{section}.{}", key.to_lowercase()), variable, &text)?;
            }
        }
        Ok(())
    }

    /// A value given as text: it is read as what the shipped value is.
    pub(super) fn add_text(
        &mut self,
        setting: &str,
        origin: String,
        text: &str,
    ) -> Result<(), ConfigError> {
        let value = match self.0.get(setting).map(|known| &known.value) {
            Some(Value::Integer(_)) => text.trim().parse().map(Value::Integer).ok(),
            Some(Value::Boolean(_)) => text.trim().parse().map(Value::Boolean).ok(),
            Some(Value::Array(_)) => Some(Value::Array(
                text.split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty())
                    .map(|part| Value::String(part.to_owned()))
                    .collect(),
            )),
            _ => Some(Value::String(text.to_owned())),
        };
        self.set(setting, origin, value, text)
    }

    /// Checks what depends on more than one setting and hands out the typed settings.
    pub(super) fn finish(self) -> Result<Config, ConfigError> {
        let origin = self.0["server.listen"].origin.clone();
        let webhook = self.0["webhook.url"].origin.clone();
        let mut table = Table::new();
        for (name, setting) in self.0 {
            let (section, key) = name.split_once('.').expect("names are made as section.key");
            let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            let section = section.as_table_mut().expect("every section is a table");
            section.insert(key.to_owned(), setting.value);
        }
        let config = Config::deserialize(Value::Table(table))
            .expect("types and ranges were checked setting by setting");
        let listen = config.server.listen;
        if !listen.ip().is_loopback() && !config.server.behind_tls_proxy {
            return Err(ConfigError::Exposed { origin, listen });
        }
        let (url, private) = (&config.webhook.url, config.webhook.allow_private_addresses);
        if url.starts_with("http://") && !private {
            return Err(ConfigError::Refused {
                origin: webhook,
                setting: "webhook.url".into(),
                actual: url.clone(),
                allowed:
                    "an https address; plain HTTP only with webhook.allow_private_addresses = true"
                        .into(),
            });
        }
        Ok(config)
    }

    fn has_section(&self, section: &str) -> bool {
        self.0.keys().any(|name| name.split('.').next() == Some(section))
    }

    fn set(
        &mut self,
        setting: &str,
        origin: String,
        value: Option<Value>,
        shown: &str,
    ) -> Result<(), ConfigError> {
        let Some(known) = self.0.get_mut(setting) else {
            return Err(self.unknown(origin, setting));
        };
        let range = RANGES.iter().find(|(name, _)| *name == setting).map(|(_, range)| range);
        match value {
            Some(value) if known.value.same_type(&value) && within(range, &value) => {
                *known = Setting { value, origin };
                Ok(())
            }
            _ => Err(ConfigError::Refused {
                origin,
                setting: setting.to_owned(),
                actual: shown.to_owned(),
                allowed: allowed(range),
            }),
        }
    }

    fn unknown(&self, origin: String, setting: &str) -> ConfigError {
        let key = setting.rsplit('.').next().unwrap_or(setting);
        let distance = |name: &str| {
            let whole = strsim::damerau_levenshtein(name, setting);
            let part = name.split('.').map(|part| strsim::damerau_levenshtein(part, key)).min();
            whole.min(part.unwrap_or(whole) + 1)
        };
        let nearest = self.0.keys().min_by_key(|name| distance(name)).cloned().unwrap_or_default();
        ConfigError::Unknown { origin, setting: setting.to_owned(), nearest }
    }
}

fn within(range: Option<&Range>, value: &Value) -> bool {
    match (range, value) {
        (Some(Range::Between(low, high)), Value::Integer(number)) => (low..=high).contains(&number),
        (Some(Range::OneOf(words)), Value::String(text)) => words.contains(&text.as_str()),
        (Some(Range::Address), Value::String(text)) => text.parse::<SocketAddr>().is_ok(),
        (Some(Range::Origin), Value::String(text)) => text.is_empty() || is_origin(text),
        (Some(Range::Origin), Value::Array(items)) => {
            items.iter().all(|item| item.as_str().is_some_and(is_origin))
        }
        (Some(Range::Networks), Value::Array(items)) => {
            items.iter().all(|item| item.as_str().is_some_and(|item| network(item).is_some()))
        }
        (Some(Range::Url), Value::String(text)) => text.is_empty() || is_url(text),
        (Some(Range::Slug), Value::String(text)) => is_slug(text),
        (Some(Range::Filter), Value::String(text)) => crate::logs::filter(text).is_ok(),
        (Some(Range::Text), Value::String(text)) => !text.is_empty(),
        (None, Value::Boolean(_)) => true,
        _ => false,
    }
}

fn allowed(range: Option<&Range>) -> String {
    match range {
        Some(Range::Between(low, high)) => format!("a whole number from {low} to {high}"),
        Some(Range::OneOf(words)) => words.join(" or "),
        Some(Range::Address) => {
            "an IP address and a port, such as 127.0.0.1:7464 or [::1]:7464".into()
        }
        Some(Range::Origin) => "origins such as https://parley.example.org, without a path".into(),
        Some(Range::Networks) => "IP addresses and networks such as 10.0.0.7 or 10.0.0.0/8".into(),
        Some(Range::Url) => "an address such as https://example.org/hook".into(),
        Some(Range::Slug) => {
            "1 to 40 of a-z, 0-9 and -, beginning with a letter or digit, and not `human`".into()
        }
        Some(Range::Filter) => {
            "off, error, warn, info, debug, trace, or per module such as info,parley=debug".into()
        }
        Some(Range::Text) => "a text that is not empty".into(),
        None => "true or false".into(),
    }
}

/// An address or a network of addresses.
pub(super) fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

fn is_url(text: &str) -> bool {
    text.parse::<actix_web::http::Uri>().is_ok_and(|url| {
        matches!(url.scheme_str(), Some("http" | "https"))
            && url.host().is_some_and(|host| !host.is_empty())
    })
}

fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| {
        !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']) && !host.contains('\0')
    })
}

/// `human` is taken: it is the realm of the operator.
fn is_slug(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    (1..=40).contains(&bytes.len())
        && letter(bytes[0])
        && bytes.iter().all(|byte| letter(*byte) || *byte == b'-')
        && text != "human"
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The value without its place in the file; dates, numbers with fractions and tables are no setting's type.
fn plain(value: DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::String(text) => Some(Value::String(text.into_owned())),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map(Value::Integer).ok()
        }
        DeValue::Boolean(yes) => Some(Value::Boolean(yes)),
        DeValue::Array(items) => items
            .into_iter()
            .map(|item| plain(item.into_inner()))
            .collect::<Option<_>>()
            .map(Value::Array),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `file` and `environment` over the defaults; the refusal as its sentence.
    fn check(file: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
        let read = || {
            let mut layers = Layers::shipped();
            layers.add_file("my.toml", file)?;
            layers.add_environment(
                environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())),
            )?;
            layers.finish()
        };
        read().map_err(|error: ConfigError| error.to_string())
    }

    fn refusal(file: &str, environment: &[(&str, &str)]) -> String {
        check(file, environment).expect_err("is refused")
    }

    #[test]
    fn the_shipped_file_names_every_setting_and_passes() {
        let config = Config::shipped();
        assert_eq!(config.server.listen.port(), 7464);
        assert_eq!(config.limits.requests_per_minute, parley_language::limits::REQUESTS_PER_MINUTE);
        assert_eq!(
            config.limits.requests_per_minute_anonymous,
            parley_language::limits::REQUESTS_PER_MINUTE_ANONYMOUS
        );
        assert_eq!(config.storage.journal(), parley_journal::Settings::new("./data/journal"));
        let shipped = Layers::shipped();
        for (name, setting) in &shipped.0 {
            let range = RANGES.iter().find(|(known, _)| known == name).map(|(_, range)| range);
            assert!(within(range, &setting.value), "{name}: {}", allowed(range));
        }
        assert!(
            RANGES.iter().all(|(name, _)| shipped.0.contains_key(*name)),
            "a row without setting"
        );
    }

    #[test]
    fn later_layers_win_and_what_they_leave_out_stays() {
        let config = check(
            "[server]\nworkers = 3\nlisten = \"127.0.0.1:1\"\n[limits]\nrequests_per_minute = 1_000",
            &[
                ("PARLEY_SERVER_LISTEN", "[::1]:2"),
                ("PARLEY_SERVER_ALLOWED_ORIGINS", "https://a.example, https://b.example"),
                ("PARLEY_CRASH_ROUNDS", "not a setting"),
                ("PARLEY_PYTHON", "neither"),
            ],
        )
        .expect("all of it is right");
        assert_eq!(config.server.workers, 3);
        assert_eq!(config.server.listen, "[::1]:2".parse().expect("an address"));
        assert_eq!(config.server.allowed_origins, ["https://a.example", "https://b.example"]);
        assert_eq!(config.limits.requests_per_minute, 1000);
        assert_eq!(config.logs, Config::shipped().logs);
    }

    #[test]
    fn an_unknown_setting_is_refused_with_its_line_and_the_nearest_name() {
        #[rustfmt::skip]
        let cases = [
            ("[server]\n\nlisen = 1",            "my.toml, line 3: unknown setting `server.lisen`; did you mean `server.listen`?"),
            ("listen = 1",                       "my.toml, line 1: unknown setting `listen`; did you mean `server.listen`?"),
            ("[server]\nrequests_per_minute=1",  "my.toml, line 2: unknown setting `server.requests_per_minute`; did you mean `limits.requests_per_minute`?"),
            ("[log]\nlevel = \"info\"",          "my.toml, line 2: unknown setting `log.level`; did you mean `logs.level`?"),
        ];
        for (file, sentence) in cases {
            assert_eq!(refusal(file, &[]), sentence);
        }
        let sentence = refusal("", &[("PARLEY_LIMITS_REQUESTS", "1")]);
        assert!(sentence.starts_with("PARLEY_LIMITS_REQUESTS: unknown setting"), "{sentence}");
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        #[rustfmt::skip]
        let cases = [
            ("[limits]\nrequests_per_minute = 0", "my.toml, line 2: limits.requests_per_minute = 0 cannot be; allowed: a whole number from 1 to 1000000000"),
            ("[server]\nworkers = \"two\"",       "my.toml, line 2: server.workers = \"two\" cannot be; allowed: a whole number from 0 to 256"),
            ("[server]\nworkers = 1.5",           "my.toml, line 2: server.workers = 1.5 cannot be; allowed: a whole number from 0 to 256"),
            ("[logs]\nformat = \"xml\"",          "my.toml, line 2: logs.format = \"xml\" cannot be; allowed: human or json"),
            ("[server]\nbehind_tls_proxy = 1",    "my.toml, line 2: server.behind_tls_proxy = 1 cannot be; allowed: true or false"),
        ];
        for (file, sentence) in cases {
            assert_eq!(refusal(file, &[]), sentence);
        }
        for file in [
            "[realm]\nname = \"human\"",
            "[realm]\nname = \"Big\"",
            "[server]\nlisten = \"localhost\"",
            "[server]\npublic_origin = \"https://a.example/path\"",
            "[logs]\nlevel = \"lo=ud=er\"",
            "[storage]\ndata_dir = \"\"",
        ] {
            assert!(refusal(file, &[]).contains("cannot be; allowed: "), "{file}");
        }
        assert!(refusal("[server\n", &[]).starts_with("my.toml, line 1: this is not TOML: "));
    }

    #[test]
    fn plain_http_stays_on_this_machine_unless_a_proxy_speaks_tls() {
        let sentence = refusal("", &[("PARLEY_SERVER_LISTEN", "0.0.0.0:7464")]);
        assert!(sentence.contains("server.behind_tls_proxy = true"), "{sentence}");
        let behind = check("[server]\nbehind_tls_proxy = true\nlisten = \"0.0.0.0:80\"", &[]);
        let server = behind.expect("a proxy is there").server;
        assert_eq!(server.origin(server.listen), "http://127.0.0.1:80");
    }
}

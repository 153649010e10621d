//! Tells the operator of new access requests and feature requests (section 7): `POST` of
//! `{type, timestamp, data}` to `webhook.url`, signed the way of Standard Webhooks, in order, at least once.
//!
//! It follows the feed and writes down how far it is, so nothing is missed over restarts. What cannot be delivered is
//! tried again, more and more rarely, for a day; then the next one gets its turn and the log says so.

mod address;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use parley_actors::record;
use parley_actors::registry::{Bookmark, now};
use parley_journal::Stored;
use parley_language::Time;
use parley_language::desk::DeskEvent;
use serde_json::json;
use sha2::Sha256;
use tokio::time::{Instant, timeout};
use ureq::unversioned::transport::DefaultConnector;

use crate::config::WebhookSettings;
use crate::events::{Filter, Telling, Told};
use crate::forum::Forum;
use crate::operator;

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The pause after the first failure; it doubles with each one.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(900);
/// For how long one event is tried.
const STUBBORN: Duration = Duration::from_secs(24 * 3600);
/// After how many records without news the place is written down.
const RECORDS_PER_NOTE: u64 = 4_096;
/// What a key begins with, as receivers know it.
const KEY_PREFIX: &str = "whsec_";

/// Where to, and how.
pub struct Webhook {
    url: String,
    key: Vec<u8>,
    agent: ureq::Agent,
}

impl Webhook {
    /// The webhook of these settings; none if there is no address. The key is made with the first start that has one.
    ///
    /// # Errors
    /// When the key's file cannot be read, written or holds none.
    pub fn open(
        settings: &WebhookSettings,
        key_path: &std::path::Path,
    ) -> io::Result<Option<Self>> {
        if settings.url.is_empty() {
            return Ok(None);
        }
        let (text, _) = operator::secret_file(key_path, fresh_key)?;
        let key = text.strip_prefix(KEY_PREFIX).and_then(|key| BASE64.decode(key).ok());
        let no_key = || {
            let error = format!(
                "{} holds no webhook key; remove it and a new one is made",
                key_path.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, error)
        };
        let key = key.filter(|key| key.len() >= 24).ok_or_else(no_key)?;
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .http_status_as_error(false)
            // A proxy would look up the name itself, past the check of addresses.
            .proxy(None)
            .user_agent(concat!("parley/", env!("CARGO_PKG_VERSION")))
            .build();
        let resolver = address::Guarded::new(settings.allow_private_addresses);
        let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), resolver);
        Ok(Some(Self { url: settings.url.clone(), key, agent }))
    }

    /// One attempt. Blocks.
    fn send(&self, id: &str, at: Time, body: &str) -> Result<(), String> {
        let seconds = at.0 / 1000;
        let answer = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", format!("v1,{}", sign(&self.key, id, seconds, body)))
            .send(body)
            .map_err(|error| error.to_string())?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("it answered {status}")) }
    }
}

fn fresh_key() -> String {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    format!("{KEY_PREFIX}{}", BASE64.encode(bytes))
}

/// HMAC-SHA256 of `id.seconds.body`, in base64.
fn sign(key: &[u8], id: &str, seconds: u64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    BASE64.encode(mac.finalize().into_bytes())
}

/// Tells, until the server goes down. To be spawned once.
pub async fn keep(forum: Forum, webhook: Webhook) {
    let webhook = Arc::new(webhook);
    let mut closed = forum.registry().feed().closed();
    tokio::select! {
        () = follow(&forum, &webhook) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
}

async fn follow(forum: &Forum, webhook: &Arc<Webhook>) {
    let registry = forum.registry();
    let mut position = registry.feed().follow();
    let mut place = loop {
        match registry.bookmark(record::WEBHOOK).await {
            Ok(place) => break place,
            Err(error) => tracing::error!(error, "the webhook's place cannot be read"),
        }
        tokio::time::sleep(PAUSE).await;
    };
    if place.is_new() {
        // What was asked before there was a webhook is no news.
        place.reached = registry.feed().position();
        registry.write_bookmark(&mut place).await;
    }
    loop {
        let newest = *position.borrow_and_update();
        while place.reached < newest {
            match registry.feed().after(place.reached, 512).await {
                Ok(batch) => tell_all(forum, webhook, &mut place, batch).await,
                Err(error) => {
                    tracing::error!(%error, "the webhook cannot read the journal");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        if position.changed().await.is_err() {
            return;
        }
    }
}

async fn tell_all(forum: &Forum, webhook: &Arc<Webhook>, place: &mut Bookmark, batch: Vec<Stored>) {
    let operator = forum.human();
    let told = Told { forum, caller: &operator, filter: Filter::default() };
    for stored in batch {
        let is_news = is_news(&stored);
        if is_news {
            for event in told.events(&stored).await {
                tell(webhook, event).await;
            }
        }
        place.reached = stored.position;
        if is_news || place.ahead() >= RECORDS_PER_NOTE {
            forum.registry().write_bookmark(place).await;
        }
    }
}

/// Whether somebody asked for something.
fn is_news(stored: &Stored) -> bool {
    stored.stream.kind == record::DESK
        && matches!(
            record::decode::<DeskEvent>(&stored.body),
            Ok(DeskEvent::AccessRequested { .. } | DeskEvent::FeatureAsked(_))
        )
}

async fn tell(webhook: &Arc<Webhook>, (id, kind, object): Telling) {
    let body = json!({"type": kind, "timestamp": now(), "data": object}).to_string();
    let began = Instant::now();
    let mut pause = PAUSE;
    loop {
        let (webhook, sent_id, sent) = (Arc::clone(webhook), id.clone(), body.clone());
        let attempt = web::block(move || webhook.send(&sent_id, now(), &sent));
        let outcome = match timeout(PATIENCE * 2, attempt).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it takes too long".to_owned()),
        };
        match outcome {
            Ok(()) => return,
            Err(error) if began.elapsed() + pause > STUBBORN => {
                tracing::error!(
                    id,
                    kind,
                    error,
                    "the webhook was not told of this; it is given up"
                );
                return;
            }
            Err(error) => {
                tracing::warn!(
                    id,
                    kind,
                    error,
                    again_in_seconds = pause.as_secs(),
                    "the webhook could not be told"
                );
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_as_receivers_compute_it() {
        // The example of the Standard Webhooks specification.
        let key = BASE64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature =
            sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}

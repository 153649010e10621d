//! How often a caller may call: one allowance a minute for each token, session and address.
//!
//! It counts and tells; it never knows who is counted.

use std::io::Write as _;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use actix_web::http::header::HeaderValue;
use actix_web::web::Bytes;
use dashmap::DashMap;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use parley_language::reason::{Details, Reason, Refusal};

/// The window of every allowance: seconds.
const WINDOW: u64 = 60;
/// The window of applications: seconds.
const HOUR: u64 = 3600;

/// The most addresses that are counted apart; past it, new ones share one allowance.
pub const ADDRESSES: usize = 65_536;

type Limiter = RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>;

/// One caller's allowance: so many requests a minute, all of them at once if it likes.
pub struct Allowance {
    limiter: Limiter,
    per_minute: u32,
    policy: HeaderValue,
    applications_per_hour: NonZeroU32,
    /// Made with the first application.
    applications: OnceLock<DefaultDirectRateLimiter>,
}

/// What is left of an allowance after a request, as the headers tell it.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Requests that are left.
    pub remaining: u32,
    /// Seconds until the allowance is whole again.
    pub reset_seconds: u64,
    policy: HeaderValue,
}

/// The allowance is used up.
#[derive(Debug, Clone)]
pub struct Exhausted {
    /// Seconds until the next request is let in, at least 1.
    pub retry_after_seconds: u64,
    /// What the headers tell.
    pub standing: Standing,
}

impl Allowance {
    /// An allowance of so many requests a minute; zero counts as one.
    pub fn per_minute(requests: u32) -> Self {
        let requests = NonZeroU32::new(requests).unwrap_or(NonZeroU32::MIN);
        let limiter = RateLimiter::direct(Quota::per_minute(requests))
            .with_middleware::<StateInformationMiddleware>();
        let policy = header(format!("\"minute\";q={requests};w={WINDOW}").into_bytes());
        let applications_per_hour = NonZeroU32::MAX;
        let applications = OnceLock::new();
        Self { limiter, per_minute: requests.get(), policy, applications_per_hour, applications }
    }

    /// The same, with so many applications for tokens an hour; zero counts as one.
    #[must_use]
    pub fn with_applications_per_hour(mut self, applications: u32) -> Self {
        self.applications_per_hour = NonZeroU32::new(applications).unwrap_or(NonZeroU32::MIN);
        self
    }

    /// Counts one application for a token.
    ///
    /// # Errors
    /// When none is left; then nothing is counted.
    pub fn apply(&self) -> Result<(), Exhausted> {
        let quota = || Quota::per_hour(self.applications_per_hour);
        let limiter = self.applications.get_or_init(|| RateLimiter::direct(quota()));
        limiter.check().map_err(|not_until| {
            let wait = not_until.wait_time_from(limiter.clock().now());
            let retry_after_seconds = (wait.as_millis().div_ceil(1000) as u64).max(1);
            Exhausted { retry_after_seconds, standing: self.standing(0) }
        })
    }

    /// For how many seconds after its last use something of it may still be used up.
    fn memory_seconds(&self) -> u64 {
        if self.applications.get().is_some() { HOUR } else { WINDOW }
    }

    /// Counts one request.
    ///
    /// # Errors
    /// When none is left; then nothing is counted.
    pub fn check(&self) -> Result<Standing, Exhausted> {
        match self.limiter.check() {
            Ok(snapshot) => Ok(self.standing(snapshot.remaining_burst_capacity())),
            Err(not_until) => {
                let wait = not_until.wait_time_from(self.limiter.clock().now());
                let retry_after_seconds = (wait.as_millis().div_ceil(1000) as u64).max(1);
                Err(Exhausted { retry_after_seconds, standing: self.standing(0) })
            }
        }
    }

    /// Counts one request that is answered in any case, such as a 404 that costs nothing.
    pub fn note(&self) -> Standing {
        self.check().unwrap_or_else(|exhausted| exhausted.standing)
    }

    fn standing(&self, remaining: u32) -> Standing {
        let used = u64::from(self.per_minute - remaining.min(self.per_minute));
        let reset_seconds = (used * WINDOW).div_ceil(u64::from(self.per_minute));
        Standing { remaining, reset_seconds, policy: self.policy.clone() }
    }
}

impl Standing {
    /// The value of the header `RateLimit`.
    pub fn limit(&self) -> HeaderValue {
        let mut text = Vec::with_capacity(32);
        // Writing to a vector cannot fail.
        let _ = write!(text, "\"minute\";r={};t={}", self.remaining, self.reset_seconds);
        header(text)
    }

    /// The value of the header `RateLimit-Policy`.
    pub fn policy(&self) -> HeaderValue {
        self.policy.clone()
    }
}

impl Exhausted {
    /// The refusal that says how long to wait.
    pub fn refusal(&self) -> Refusal {
        let seconds = self.retry_after_seconds;
        let error = format!("too many requests; wait {seconds} s, then repeat the call");
        Refusal::new(Reason::RateLimited, error)
            .with(Details { retry_after_seconds: Some(seconds), ..Details::default() })
    }
}

fn header(text: Vec<u8>) -> HeaderValue {
    HeaderValue::from_maybe_shared(Bytes::from(text)).expect("quotes, letters and digits only")
}

/// The allowances of those who call without a token, by address. An IPv6 network of 64 bits counts as one address.
pub struct Addresses {
    seen: DashMap<IpAddr, Seen>,
    fresh: Box<dyn Fn() -> Allowance + Send + Sync>,
    bound: usize,
    crowd: Arc<Allowance>,
    start: Instant,
    swept: AtomicU64,
}

struct Seen {
    allowance: Arc<Allowance>,
    last: AtomicU64,
}

impl Addresses {
    /// An allowance like this for each address.
    pub fn each(fresh: impl Fn() -> Allowance + Send + Sync + 'static) -> Self {
        Self::bounded(fresh, ADDRESSES)
    }

    fn bounded(fresh: impl Fn() -> Allowance + Send + Sync + 'static, bound: usize) -> Self {
        Self {
            seen: DashMap::new(),
            bound,
            crowd: Arc::new(fresh()),
            fresh: Box::new(fresh),
            start: Instant::now(),
            swept: AtomicU64::new(0),
        }
    }

    /// The allowance of an address.
    pub fn allowance(&self, address: IpAddr) -> Arc<Allowance> {
        let address = network(address);
        // One second on, so that 0 means "never".
        let now = self.start.elapsed().as_secs() + 1;
        if let Some(seen) = self.seen.get(&address) {
            seen.last.store(now, Ordering::Relaxed);
            return Arc::clone(&seen.allowance);
        }
        if self.seen.len() >= self.bound {
            self.sweep(now);
            if self.seen.len() >= self.bound {
                return Arc::clone(&self.crowd);
            }
        }
        let seen = self.seen.entry(address).or_insert_with(|| Seen {
            allowance: Arc::new((self.fresh)()),
            last: AtomicU64::new(now),
        });
        Arc::clone(&seen.allowance)
    }

    /// Forgets who was not seen for a whole window: its allowance is whole again. At most once a second.
    fn sweep(&self, now: u64) {
        let swept = self.swept.load(Ordering::Relaxed);
        if swept == now
            || self
                .swept
                .compare_exchange(swept, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        self.seen.retain(|_, seen| {
            let unseen = now.saturating_sub(seen.last.load(Ordering::Relaxed));
            unseen <= seen.allowance.memory_seconds()
        });
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_used_up_and_says_how_long_to_wait() {
        let allowance = Allowance::per_minute(3);
        let first = allowance.check().unwrap();
        assert_eq!((first.remaining, first.reset_seconds), (2, 20));
        assert_eq!(first.limit(), "\"minute\";r=2;t=20");
        assert_eq!(first.policy(), "\"minute\";q=3;w=60");
        assert!(allowance.check().is_ok() && allowance.check().is_ok());
        let exhausted = allowance.check().unwrap_err();
        assert!((1..=20).contains(&exhausted.retry_after_seconds));
        assert_eq!(exhausted.standing.limit(), "\"minute\";r=0;t=60");
        assert_eq!(exhausted.refusal().reason, Reason::RateLimited);
    }

    #[test]
    fn applications_are_counted_by_the_hour_beside_the_rest() {
        let allowance = Allowance::per_minute(3).with_applications_per_hour(2);
        assert_eq!(allowance.memory_seconds(), WINDOW);
        assert!(allowance.apply().is_ok() && allowance.apply().is_ok());
        assert!((1_000..=1_800).contains(&allowance.apply().unwrap_err().retry_after_seconds));
        assert_eq!(allowance.memory_seconds(), HOUR);
        assert!(allowance.check().is_ok());
    }

    #[test]
    fn past_the_bound_new_addresses_share_one_allowance() {
        let addresses = Addresses::bounded(|| Allowance::per_minute(5), 2);
        let of = |last: u8| addresses.allowance(IpAddr::from([10, 0, 0, last]));
        assert!(Arc::ptr_eq(&of(1), &of(1)) && !Arc::ptr_eq(&of(1), &of(2)));
        assert!(Arc::ptr_eq(&of(3), &of(4)));
        assert!(Arc::ptr_eq(&of(3), &addresses.crowd));
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}

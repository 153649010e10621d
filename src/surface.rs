//! Everything that stands between the wire and the operations: the table, its routes, its tools, and the settings.
//!
//! It is built once and shared by all workers. It holds no state of the forum beyond the one it is given.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use actix_web::http::header::HeaderValue;
use actix_web::web::Bytes;
use ipnet::IpNet;

use crate::caller::Doorkeeper;
use crate::http::router::Router;
use crate::mcp::tools::{self, Tools};
use crate::operation::Table;

/// What the surface is set to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's name, as MCP clients see it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its own address in browsers, like `https://forum.example.org`.
    pub public_origin: Option<String>,
    /// Further origins that may call from a browser, like `https://claude.ai`. Loopback always may.
    pub allowed_origins: Vec<String>,
    /// Whether browsers come through a proxy that speaks TLS.
    pub behind_tls_proxy: bool,
    /// The proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
}

/// The surface of one server.
pub struct Surface<S>(Arc<Inner<S>>);

/// What all workers share of it.
pub struct Inner<S> {
    pub(crate) state: S,
    pub(crate) table: Arc<Table<S>>,
    pub(crate) router: Router,
    pub(crate) tools: Tools,
    pub(crate) challenge: HeaderValue,
    origins: Vec<String>,
    behind_tls_proxy: bool,
    trusted_proxies: Vec<IpNet>,
    draining: AtomicBool,
    inside: AtomicUsize,
}

impl<S> Clone for Surface<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A call that is inside.
pub struct Inside<S>(Surface<S>);

impl<S> Drop for Inside<S> {
    fn drop(&mut self) {
        self.0.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<S> std::ops::Deref for Surface<S> {
    type Target = Inner<S>;

    fn deref(&self) -> &Inner<S> {
        &self.0
    }
}

impl<S: Doorkeeper> Surface<S> {
    /// The surface of this state and table.
    ///
    /// # Panics
    /// When two rows of the table have the same method and path.
    pub fn new(state: S, table: Arc<Table<S>>, settings: Settings) -> Self {
        let realm: String = state
            .realm()
            .chars()
            .filter(|c| c.is_ascii_graphic() && !"\"\\".contains(*c))
            .collect();
        let challenge =
            HeaderValue::from_maybe_shared(Bytes::from(format!("Bearer realm=\"{realm}\"")))
                .expect("only graphic ASCII is in it");
        let mut origins = settings.allowed_origins;
        origins.extend(settings.public_origin);
        for origin in &mut origins {
            *origin = origin.trim_end_matches('/').to_ascii_lowercase();
        }
        Self(Arc::new(Inner {
            router: Router::new(&table),
            tools: Tools::new(&table, &settings.name, &settings.version),
            state,
            table,
            challenge,
            origins,
            behind_tls_proxy: settings.behind_tls_proxy,
            trusted_proxies: settings.trusted_proxies,
            draining: AtomicBool::new(false),
            inside: AtomicUsize::new(0),
        }))
    }

    /// From now on every new call is refused as `unavailable`; those inside go on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Whether new calls are refused.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Counts a call as inside until the guard is dropped. Counted before it asks whether the server drains, so that a
    /// server that drains and finds nobody inside has nobody inside.
    pub fn enter_house(&self) -> Inside<S> {
        self.0.inside.fetch_add(1, Ordering::SeqCst);
        Inside(self.clone())
    }

    /// How many calls are inside.
    pub fn inside(&self) -> usize {
        self.0.inside.load(Ordering::SeqCst)
    }

    /// The forum's state.
    pub fn state(&self) -> &S {
        &self.0.state
    }

    /// The table.
    pub fn table(&self) -> &Table<S> {
        &self.0.table
    }

    /// The answer to `tools/list`: all tools, or the core.
    pub fn tool_list(&self, core: bool) -> &str {
        if core { &self.0.tools.core } else { &self.0.tools.all }
    }

    /// What MCP clients are told at the start.
    pub fn instructions(&self) -> &'static str {
        tools::INSTRUCTIONS
    }
}

impl<S> Inner<S> {
    /// Whether a page of this origin may call.
    pub(crate) fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        self.origins.contains(&origin) || is_loopback(&origin)
    }

    /// Whether browsers reach this server over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.behind_tls_proxy
    }

    /// The caller's address: the peer's, or what a trusted proxy says of its own peer, from the nearest on.
    pub(crate) fn address(&self, request: &actix_web::HttpRequest) -> IpAddr {
        let peer = request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.ip());
        let lines: Vec<_> = request.headers().get_all("x-forwarded-for").collect();
        let lines = lines.into_iter().rev().map(|line| line.to_str().unwrap_or_default());
        forwarded(&self.trusted_proxies, peer, lines.flat_map(|line| line.rsplit(',')))
    }
}

/// The first address that no trusted proxy has; `hops` come from the nearest on.
fn forwarded<'a>(trusted: &[IpNet], peer: IpAddr, hops: impl Iterator<Item = &'a str>) -> IpAddr {
    let mut address = peer.to_canonical();
    for hop in hops {
        if !trusted.iter().any(|proxies| proxies.contains(&address)) {
            break;
        }
        let hop = hop.trim();
        let named = hop.parse().or_else(|_| hop.parse::<SocketAddr>().map(|hop| hop.ip()));
        let Ok(named) = named else { break };
        address = named.to_canonical();
    }
    address
}

/// `http://localhost:5173` and its like: any port, by name or number.
fn is_loopback(origin: &str) -> bool {
    let Some(authority) =
        origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
    else {
        return false;
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| {
        authority.strip_prefix(host).is_some_and(|rest| {
            rest.is_empty()
                || rest.strip_prefix(':').is_some_and(|port| {
                    !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
                })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{forwarded, is_loopback};

    #[test]
    fn loopback_is_exact() {
        for origin in
            ["http://localhost", "http://127.0.0.1:7464", "https://[::1]:1", "http://localhost:80"]
        {
            assert!(is_loopback(origin), "{origin}");
        }
        for origin in [
            "null",
            "http://localhost.evil.org",
            "http://127.0.0.1.evil",
            "http://localhost:80x",
            "ftp://localhost",
            "http://localhost:",
        ] {
            assert!(!is_loopback(origin), "{origin}");
        }
    }

    #[test]
    fn only_trusted_proxies_say_whose_request_it_is() {
        let trusted = ["10.0.0.0/8", "::1/128"].map(|text| text.parse().unwrap());
        let of = |peer: &str, header: &str| {
            forwarded(&trusted, peer.parse().unwrap(), header.rsplit(',')).to_string()
        };
        // Whoever is not trusted may say what it likes.
        assert_eq!(of("203.0.113.9", "198.51.100.1"), "203.0.113.9");
        assert_eq!(of("10.0.0.1", "198.51.100.1"), "198.51.100.1");
        assert_eq!(of("::1", "198.51.100.1, 10.2.3.4"), "198.51.100.1");
        assert_eq!(of("::ffff:10.0.0.1", "192.0.2.7, 198.51.100.1"), "198.51.100.1");
        assert_eq!(of("10.0.0.1", "198.51.100.1:4711"), "198.51.100.1");
        assert_eq!(of("10.0.0.1", "[2001:db8::1]:80"), "2001:db8::1");
        assert_eq!(of("10.0.0.1", "198.51.100.1, unknown"), "10.0.0.1");
        assert_eq!(of("10.0.0.1", ""), "10.0.0.1");
        let nobody = forwarded(&[], "::1".parse().unwrap(), "192.0.2.7".rsplit(','));
        assert_eq!(nobody.to_string(), "::1");
    }
}

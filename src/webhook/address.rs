//! Addresses that a webhook may not reach: those that mean something on this machine or in this network.
//!
//! Names are looked up once, and what was checked is what is connected to, so a name that changes its address in
//! between gains nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// A resolver that gives no private address, unless it may.
#[derive(Debug)]
pub(super) struct Guarded {
    resolver: DefaultResolver,
    allow_private: bool,
}

impl Guarded {
    pub(super) fn new(allow_private: bool) -> Self {
        Self { resolver: DefaultResolver::default(), allow_private }
    }
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.resolver.resolve(uri, config, timeout)?;
        match found.iter().find(|address| !self.allow_private && !is_public(address.ip())) {
            None => Ok(found),
            Some(address) => {
                let error = format!(
                    "{} is a private address; webhook.allow_private_addresses = true allows it",
                    address.ip()
                );
                Err(ureq::Error::Io(io::Error::new(io::ErrorKind::PermissionDenied, error)))
            }
        }
    }
}

/// Whether an address means the same everywhere.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || matches!(
            (a, b, c),
            (0 | 224.., _, _) | (100, 64..=127, _) | (192, 0, 0) | (198, 18 | 19, _)
        ))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    // Only 2000::/3 is given out, and in it 6to4 and Teredo hide other addresses.
    (a & 0xe000) == 0x2000 && !matches!((a, b), (0x2002, _) | (0x2001, 0 | 0x0db8)) && a != 0x3fff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_here_is_not_public() {
        for public in [
            "93.184.215.14",
            "1.1.1.1",
            "192.0.1.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "198.51.100.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "64:ff9b::7f00:1",
            "3fff::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}

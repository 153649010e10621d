//! Tokens as text: `parley_<id>_<secret>`, the secret 32 letters and digits and a checksum of six, so that scanners of
//! leaked secrets find it and a mistyped one is known as such. Only the hash of the secret is ever kept.

use sha2::{Digest, Sha256};

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Letters of randomness in a secret: 190 bits.
const RANDOM: usize = 32;
/// Letters of its checksum: CRC-32 in base 62.
const CHECK: usize = 6;

/// A fresh secret. It is shown once, inside a token.
pub struct Secret(String);

impl Secret {
    /// A secret from the operating system's randomness.
    ///
    /// # Panics
    /// If the operating system gives no randomness, which no server should outlive.
    #[expect(
        clippy::new_without_default,
        reason = "a default that differs each time would surprise"
    )]
    pub fn new() -> Self {
        let mut secret = String::with_capacity(RANDOM + CHECK);
        while secret.len() < RANDOM {
            let mut bytes = [0u8; RANDOM];
            getrandom::fill(&mut bytes).expect("the operating system gives randomness");
            // Bytes of 248 and more are dropped, so that every letter is equally likely.
            let letters = bytes
                .iter()
                .filter(|byte| **byte < 248)
                .map(|byte| char::from(LETTERS[usize::from(byte % 62)]));
            secret.extend(letters.take(RANDOM - secret.len()));
        }
        let check = checksum(&secret);
        secret.push_str(&check);
        Self(secret)
    }

    /// What is kept of it.
    pub fn hash(&self) -> [u8; 32] {
        hash(&self.0)
    }

    /// The secret itself.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The token with this id before it.
    pub fn token(&self, id: &str) -> String {
        format!("parley_{id}_{}", self.0)
    }
}

/// What is kept of a secret. It has 190 bits of randomness, so a plain hash cannot be searched.
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The id and the secret of a token, if it has the form of one and its checksum is right.
pub fn parse(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.strip_prefix("parley_")?.split_once('_')?;
    let (random, check) = secret.split_at_checked(RANDOM)?;
    (secret.bytes().all(|b| b.is_ascii_alphanumeric()) && check == checksum(random))
        .then_some((id, secret))
}

/// Everything in a text that has the form of a token.
pub fn candidates(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("parley_").filter_map(|(at, start)| {
        let rest = &text[at..];
        let id = rest[start.len()..].find('_')?;
        rest.get(..start.len() + id + 1 + RANDOM + CHECK).filter(|token| parse(token).is_some())
    })
}

fn checksum(random: &str) -> String {
    let mut rest = crc32fast::hash(random.as_bytes());
    let mut check = [b'0'; CHECK];
    for slot in check.iter_mut().rev() {
        *slot = LETTERS[(rest % 62) as usize];
        rest /= 62;
    }
    check.iter().map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_a_mistyped_one_is_not() {
        let secret = Secret::new();
        let token = secret.token("12");
        assert_eq!(parse(&token), Some(("12", &*secret.0)));
        assert_eq!(hash(parse(&token).unwrap().1), secret.hash());
        for at in 0..token.len() {
            let mut wrong = token.clone().into_bytes();
            wrong[at] = if wrong[at] == b'x' { b'y' } else { b'x' };
            let wrong = String::from_utf8(wrong).unwrap();
            assert!(parse(&wrong).is_none_or(|(id, _)| id != "12"), "{wrong}");
        }
        assert_eq!(parse("parley_1_é"), None);
        assert_ne!(Secret::new().0, Secret::new().0);
        let text = format!("see {token}. And parley_x, parley_{token}");
        assert_eq!(candidates(&text).collect::<Vec<_>>(), [&*token, &*token]);
    }
}

//! Passwords: argon2id, with the parameters that the library recommends. Slow on purpose; never called on a worker.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash};

/// The hash of a password, with its parameters and a fresh salt.
///
/// # Errors
/// When the operating system gives no randomness.
pub fn hash(password: &str) -> Result<String, argon2::password_hash::Error> {
    Ok(Argon2::default().hash_password(password.as_bytes())?.to_string())
}

/// Whether a hash is of this password.
pub fn is(password: &str, hash: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_one_password_and_differs_each_time() {
        let (one, other) = (hash("correct horse").unwrap(), hash("correct horse").unwrap());
        assert!(one.starts_with("$argon2id$") && one != other);
        assert!(is("correct horse", &one) && is("correct horse", &other));
        assert!(!is("correct hors", &one) && !is("", &one) && !is("correct horse", "nonsense"));
    }
}

//! The operator's key: a file of mode 0600 in the data directory. Whoever can read it is the human.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::callers::OPERATOR;
use crate::token::{self, Secret};

/// The hash of the key's secret, and whether the key was just made.
///
/// # Errors
/// When the file cannot be read, written or is no key.
pub fn key_hash(path: &Path) -> io::Result<([u8; 32], bool)> {
    match fs::read_to_string(path) {
        Ok(text) => {
            fs::set_permissions(path, Permissions::from_mode(0o600))?;
            let secret = token::parse(text.trim())
                .filter(|(id, _)| *id == OPERATOR)
                .map(|(_, secret)| token::hash(secret));
            let no_key = || {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "{} holds no operator key; remove it and a new one is made",
                        path.display()
                    ),
                )
            };
            Ok((secret.ok_or_else(no_key)?, false))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secret = Secret::new();
            // Written beside and renamed, so that a crash leaves a whole key or none.
            let draft = path.with_extension("key.new");
            drop(fs::remove_file(&draft));
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            writeln!(file, "{}", secret.token(OPERATOR))?;
            file.sync_all()?;
            fs::rename(&draft, path)?;
            Ok((secret.hash(), true))
        }
        Err(error) => Err(error),
    }
}

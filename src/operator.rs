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
    let (text, is_new) = secret_file(path, || Secret::new().token(OPERATOR))?;
    let secret = token::parse(&text).filter(|(id, _)| *id == OPERATOR);
    let no_key = || {
        let error =
            format!("{} holds no operator key; remove it and a new one is made", path.display());
        io::Error::new(io::ErrorKind::InvalidData, error)
    };
    let (_, secret) = secret.ok_or_else(no_key)?;
    Ok((token::hash(secret), is_new))
}

/// The one line of a file that only its owner reads, and whether it was just made.
///
/// # Errors
/// When the file cannot be read or written.
pub fn secret_file(path: &Path, fresh: impl FnOnce() -> String) -> io::Result<(String, bool)> {
    match fs::read_to_string(path) {
        Ok(text) => {
            fs::set_permissions(path, Permissions::from_mode(0o600))?;
            Ok((text.trim().to_owned(), false))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = fresh();
            // Written beside and renamed, so that a crash leaves a whole one or none.
            let draft = path.with_extension("key.new");
            drop(fs::remove_file(&draft));
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            fs::rename(&draft, path)?;
            Ok((text, true))
        }
        Err(error) => Err(error),
    }
}

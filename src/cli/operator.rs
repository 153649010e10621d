//! `parley operator`: the human's password and a new one-time link. It asks the running server, with the operator's key.

use std::io::{IsTerminal as _, stdin};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use parley::client::Client;
use serde_json::{Value, json};

use super::{Failure, Place, Say};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Set the password of the human: asked for twice, or one line of standard input.
    Password(Operator),
    /// Make a link that signs the human in once.
    Link(Operator),
}

/// Which server, and with which key.
#[derive(Args)]
pub(super) struct Operator {
    /// The running server [default: the address in the settings].
    #[arg(long)]
    url: Option<String>,
    /// The operator's key [default: operator.key in the data directory].
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Operator {
    /// A client that is the human.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        let config = self.place.settings(None)?;
        let origin = self.url.clone().unwrap_or_else(|| format!("http://{}", config.server.listen));
        let key_file = self.key_file.clone().unwrap_or_else(|| config.storage.operator_key_path());
        let key = std::fs::read_to_string(&key_file).map_err(|error| {
            Failure::new(format!(
                "cannot read the operator's key {}: {error}; start the server once, or name it with --key-file",
                key_file.display()
            ))
        })?;
        Ok(Client::new(origin).with_token(key.trim()))
    }
}

/// Asks the server for something, and fails with its sentence if it refuses.
pub(super) fn ask(client: &Client, path: &str, body: &Value) -> Result<Value, Failure> {
    let answer = client
        .post(path, body)
        .map_err(|error| Failure::new(format!("{error}; is the server running?")))?;
    if answer.is_success() {
        return Ok(answer.json);
    }
    let reason = answer.reason().map(str::to_owned);
    let sentence = answer.json["error"].as_str().unwrap_or("the server refused");
    Err(Failure { reason, ..Failure::new(sentence) })
}

pub(super) fn run(command: &Command, say: &Say) -> Result<(), Failure> {
    match command {
        Command::Password(operator) => {
            let client = operator.client()?;
            let password = password()?;
            let said = ask(&client, "/operator/password", &json!({"password": password}))?;
            let at = format!("{}/login", client.origin());
            say.either(
                || format!("The password is set; every session has ended. Sign in at {at}"),
                || said.clone(),
            );
        }
        Command::Link(operator) => {
            let client = operator.client()?;
            let mut said = ask(&client, "/operator/link", &json!({}))?;
            let link = format!("{}{}", client.origin(), said["path"].as_str().unwrap_or_default());
            said["link"] = link.clone().into();
            say.either(
                || format!("This link signs you in once, within a day:\n\n  {link}"),
                || said.clone(),
            );
        }
    }
    Ok(())
}

fn password() -> Result<String, Failure> {
    let unread = |error: std::io::Error| Failure::new(format!("cannot read a password: {error}"));
    if !stdin().is_terminal() {
        let mut line = String::new();
        stdin().read_line(&mut line).map_err(unread)?;
        return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    let once = rpassword::prompt_password("New password: ").map_err(unread)?;
    let again = rpassword::prompt_password("The same again: ").map_err(unread)?;
    if once == again { Ok(once) } else { Err(Failure::new("the two are not the same; try again")) }
}

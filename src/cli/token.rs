//! `parley token create`: the operator gives an agent its token. It asks the running server, with the operator's key.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use parley::client::Client;
use serde_json::json;

use super::{Failure, Place, Say, clients};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Create a token and print it, once.
    Create(Create),
}

#[derive(Args)]
pub(super) struct Create {
    /// What the agent is called; its identity is made from it.
    #[arg(long)]
    label: String,
    /// What it may do besides reading: write, pin, lock, verify, grant.
    #[arg(long, value_delimiter = ',', value_name = "RIGHT,…")]
    rights: Vec<String>,
    /// The running server [default: the address in the settings].
    #[arg(long)]
    url: Option<String>,
    /// The operator's key [default: operator.key in the data directory].
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(command: &Command, say: &Say) -> Result<(), Failure> {
    let Command::Create(create) = command;
    let config = create.place.settings(None)?;
    let origin = create.url.clone().unwrap_or_else(|| format!("http://{}", config.server.listen));
    let key_file = create.key_file.clone().unwrap_or_else(|| config.storage.operator_key_path());
    let key = std::fs::read_to_string(&key_file).map_err(|error| {
        Failure::new(format!(
            "cannot read the operator's key {}: {error}; start the server once, or name it with --key-file",
            key_file.display()
        ))
    })?;
    let client = Client::new(origin).with_token(key.trim());
    let body = json!({"label": create.label, "rights": create.rights});
    let answer = client
        .post("/tokens", &body)
        .map_err(|error| Failure::new(format!("{error}; is the server running?")))?;
    if !answer.is_success() {
        let reason = answer.reason().map(str::to_owned);
        let sentence = answer.json["error"].as_str().unwrap_or("the server refused");
        return Err(Failure { reason, ..Failure::new(sentence) });
    }
    let said = &answer.json;
    let word = |field: &str| said[field].as_str().unwrap_or_default();
    let text = || {
        format!(
            "{identity} may {rights}. The token is shown this once:\n\n  export {variable}={token}\n\n{clients}",
            identity = word("identity"),
            rights = list(&said["rights"]),
            variable = clients::VARIABLE,
            token = word("token"),
            clients = clients::text(client.origin()),
        )
    };
    say.either(text, || {
        let mut object = said.clone();
        object["clients"] = clients::object(client.origin());
        object
    });
    Ok(())
}

fn list(rights: &serde_json::Value) -> String {
    let rights = rights.as_array().into_iter().flatten();
    rights.filter_map(|right| right.as_str()).collect::<Vec<_>>().join(", ")
}

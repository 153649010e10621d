//! `parley token create`: the operator gives an agent its token. It asks the running server, with the operator's key.

use clap::{Args, Subcommand};
use serde_json::json;

use super::operator::{Operator, ask};
use super::{Failure, Say, clients};

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
    #[command(flatten)]
    server: Operator,
}

pub(super) fn run(command: &Command, say: &Say) -> Result<(), Failure> {
    let Command::Create(create) = command;
    let client = create.server.client()?;
    let body = json!({"label": create.label, "rights": create.rights});
    let said = &ask(&client, "/tokens", &body)?;
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

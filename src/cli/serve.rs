//! `parley serve`: settings, logs, the server, its address on standard output, and the end.

use std::future::Future;

use clap::Args;
use parley::server::{Server, serve};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;

use super::{Failure, Place, Say, clients};

#[derive(Args)]
pub(super) struct Serve {
    #[command(flatten)]
    place: Place,
    /// Where to listen [default: 127.0.0.1:7464].
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
}

pub(super) fn run(command: &Serve, say: &Say) -> Result<(), Failure> {
    let listen = command.listen.as_deref().map(|addr| ("server.listen", "--listen", addr));
    let config = command.place.settings(listen)?;
    let _logs = parley::logs::start(&config.logs).map_err(Failure::new)?;
    actix_web::rt::System::new().block_on(async {
        let shutdown = shutdown().map_err(Failure::new)?;
        let server = serve(&config).await.map_err(Failure::new)?;
        announce(&server, &config.server.origin(server.addr), say);
        server.run_until(shutdown).await.map_err(Failure::new)
    })
}

/// Done when somebody asks the process to end.
fn shutdown() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        info!(signal = name, "stopping: no new work, what was begun is finished");
    })
}

/// The address, where the operator's key is, and how agents get in. Never a token; on a first start the
/// one-time link.
fn announce(server: &Server, origin: &str, say: &Say) {
    let key = server.operator_key_path.display();
    let link = server.login_path.as_ref().map(|path| format!("{origin}{path}"));
    let text = || {
        let first = match &link {
            Some(link) => format!(
                "  A first start. This link signs you in as the human operator, once, within a day\n    {link}\n\n  \
                 Whoever can read this file is the human operator too\n    {key}\n\n"
            ),
            None => String::new(),
        };
        format!(
            "parley {version} listens on {origin}\n\n{first}  A token for an agent\n    parley token create --label worker \
             --rights write --url {origin} --key-file {key}\n    export {variable}=…\n\n{clients}",
            version = env!("CARGO_PKG_VERSION"),
            variable = clients::VARIABLE,
            clients = clients::text(origin),
        )
    };
    say.either(text, || {
        json!({
            "listen": server.addr, "origin": origin, "mcp": format!("{origin}/api/v1/mcp"),
            "first_start": server.first_start, "login_link": link, "operator_key_file": server.operator_key_path,
            "clients": clients::object(origin),
        })
    });
}

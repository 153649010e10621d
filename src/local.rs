//! A whole server in a thread of its own, for the demo and the tests: started, used over HTTP like any other, stopped.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::config::Config;
use crate::server::{ServeError, serve};

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct Local {
    /// Where it listens.
    pub addr: SocketAddr,
    /// The file with the operator's key.
    pub operator_key_path: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Local {
    /// Starts a server and waits until it listens.
    pub fn start(config: Config) -> Result<Self, ServeError> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, listening) = mpsc::sync_channel(1);
        let run = move || {
            actix_web::rt::System::new().block_on(async move {
                let server = serve(&config).await?;
                let told = started.send((server.addr, config.storage.operator_key_path()));
                told.expect("start() waits for it");
                // A sender that is gone without a word means the same as one that said stop.
                let shutdown = async { stopped.await.unwrap_or_default() };
                server.run_until(shutdown).await
            })
        };
        let thread = std::thread::Builder::new().name("server".to_owned()).spawn(run);
        let thread = thread.expect("the system has room for one more thread");
        match listening.recv() {
            Ok((addr, operator_key_path)) => {
                Ok(Self { addr, operator_key_path, stop: Some(stop), thread: Some(thread) })
            }
            Err(mpsc::RecvError) => {
                let ended = thread.join().expect("a server that cannot start says why");
                Err(ended.expect_err("it ended without ever listening"))
            }
        }
    }

    /// Its address as clients want it.
    pub fn origin(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Lets it finish what it has begun, and waits for that.
    pub fn stop(mut self) -> Result<(), ServeError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ServeError> {
        drop(self.stop.take());
        match self.thread.take() {
            Some(thread) => thread.join().expect("a server does not panic"),
            None => Ok(()),
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "the server did not stop cleanly");
        }
    }
}

//! The server: opens the house, binds, serves until it is told to stop, and leaves in order.

use std::fs::DirBuilder;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer, dev};
use parley_actors::{Registry, registry};
use parley_journal::{Journal, ReadError, sled::SledJournal};
use parley_language::Refusal;

use crate::callers::Callers;
use crate::config::Config;
use crate::documents::{self, Documents};
use crate::forum::Forum;
use crate::operation::Table;
use crate::search::Search;
use crate::surface::{self, Surface};
use crate::webhook::{self, Webhook};
use crate::{events, http, login, operations, operator};

/// Why the server could not start or end well.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The data directory.
    #[error("the data directory {path}: {error}")]
    DataDir {
        /// Where it is.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// What is stored cannot be read.
    #[error(transparent)]
    Journal(#[from] ReadError),
    /// The first board or the first link could not be made.
    #[error("a first start cannot be finished: {}", .0.error)]
    First(Box<Refusal>),
    /// The search index is in use, or its folder cannot be.
    #[error(transparent)]
    Search(#[from] parley_search::Error),
    /// The address.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What went wrong.
        error: io::Error,
    },
    /// The server ended by itself.
    #[error("the server ended: {0}")]
    Ended(io::Error),
}

/// A server that is bound and open.
pub struct Server {
    /// Where it listens; the port that was given if 0 was asked for.
    pub addr: SocketAddr,
    /// Whether the data directory was empty.
    pub first_start: bool,
    /// Where the operator's key is.
    pub operator_key_path: PathBuf,
    /// On a first start, where the human signs in once, under the server's address.
    pub login_path: Option<String>,
    server: dev::Server,
    surface: Surface<Forum>,
    journal: Arc<dyn Journal>,
    drain: Duration,
}

/// Opens the data directory and listens. Must run in an actix system.
///
/// # Errors
/// [`ServeError`]; nothing listens then.
pub async fn serve(config: &Config) -> Result<Server, ServeError> {
    let data_dir = config.storage.data_dir.clone();
    let at_data_dir = |error| ServeError::DataDir { path: data_dir.clone(), error };
    // Nobody else on this machine reads what is said here, or the hashes of tokens.
    DirBuilder::new().recursive(true).mode(0o700).create(&data_dir).map_err(at_data_dir)?;
    let journal: Arc<dyn Journal> = Arc::new(SledJournal::open(config.storage.journal())?);
    let (operator_hash, first_start) =
        operator::key_hash(&config.storage.operator_key_path()).map_err(at_data_dir)?;
    let threads = &config.threads;
    let house = registry::Settings {
        queue_per_thread_max: threads.queue_per_thread_max,
        idle_until_passivation: Duration::from_secs(threads.idle_seconds_until_passivation),
        active_max: threads.active_max,
        token_requests_pending_max: config.limits.token_requests_pending_max,
    };
    let registry = Registry::open(Arc::clone(&journal), house).await?;
    if registry.shelves().boards().is_empty() {
        let made = registry.make_board(Some("lobby".into()), "Lobby".into(), String::new()).await;
        made.map_err(|refusal| ServeError::First(Box::new(refusal)))?;
    }
    actix::spawn(registry.keep_house());
    actix::spawn(registry.keep_feed());
    actix::spawn(registry.keep_courier());
    let limits = &config.limits;
    let callers = Callers::new(operator_hash, limits);
    let search = Search::open(registry.clone(), &config.storage.search_path())?;
    let forum = Forum::new(registry, callers, search, config);
    let webhook = Webhook::open(&config.webhook, &config.storage.webhook_key_path());
    if let Some(webhook) = webhook.map_err(at_data_dir)? {
        actix::spawn(webhook::keep(forum.clone(), webhook));
    }
    let surface = Surface::new(
        forum,
        Table::new(operations::table),
        surface::Settings {
            name: "parley".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            public_origin: Some(config.server.public_origin.clone())
                .filter(|origin| !origin.is_empty()),
            allowed_origins: config.server.allowed_origins.clone(),
            behind_tls_proxy: config.server.behind_tls_proxy,
            trusted_proxies: config.server.proxies(),
        },
    );
    let login_path = match first_start {
        true => {
            let (path, hash) = login::link();
            let made = surface.state().registry().make_link(hash, login::LINK_SECONDS * 1000).await;
            made.map_err(|refusal| ServeError::First(Box::new(refusal)))?;
            Some(path)
        }
        false => None,
    };
    let (server, addr) = listen(config, &surface)?;
    Ok(Server {
        addr,
        first_start,
        operator_key_path: config.storage.operator_key_path(),
        login_path,
        server,
        surface,
        journal,
        drain: Duration::from_secs(config.server.drain_seconds_max),
    })
}

/// What the server answers: operations by the table, and beside it what is none.
///
/// * `/api/v1/events`: an answer that does not end.
/// * `/login`, `/logout`: answers with a cookie.
/// * `/openapi.json`, `/parley.html`, `/llms.txt`: documents.
fn routes(app: &mut ServiceConfig, surface: &Surface<Forum>, documents: &Documents) {
    documents::configure(app, surface, documents);
    events::configure(app, surface);
    login::configure(app, surface);
    http::configure(app, surface);
}

fn listen(
    config: &Config,
    surface: &Surface<Forum>,
) -> Result<(dev::Server, SocketAddr), ServeError> {
    let address = config.server.listen;
    let at = |error| ServeError::Listen { address, error };
    let (shared, documents) = (surface.clone(), Documents::new(surface));
    let server =
        HttpServer::new(move || App::new().configure(|app| routes(app, &shared, &documents)))
            .workers(config.server.threads())
            .disable_signals()
            // Longer than pooled clients keep a connection, so that they close it and not the server under them.
            .keep_alive(Duration::from_secs(75))
            .client_request_timeout(Duration::from_secs(10))
            .shutdown_timeout(1)
            .bind(address)
            .map_err(at)?;
    let bound = server.addrs().first().copied();
    let bound = bound.ok_or_else(|| at(io::Error::other("no address was bound")))?;
    Ok((server.run(), bound))
}

impl Server {
    /// Serves until `shutdown` is done, then drains: new work is refused as `unavailable`, work inside goes on for at
    /// most `server.drain_seconds_max`, what was acknowledged is kept, and the journal is closed.
    ///
    /// # Errors
    /// When the server ends by itself.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Self { server, surface, journal, drain, .. } = self;
        let handle = server.handle();
        let mut serving = actix::spawn(server);
        let ended = tokio::select! {
            ended = &mut serving => Some(ended),
            () = shutdown => None,
        };
        if ended.is_none() {
            surface.drain();
            surface.state().drain();
            tracing::info!("draining: no new work is taken");
            // Thread actors live on the workers' arbiters, so the workers stay until nothing is inside any more.
            let empty = async {
                while surface.inside() > 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            if tokio::time::timeout(drain, empty).await.is_err() {
                tracing::warn!(inside = surface.inside(), "some calls did not end in time");
            }
            handle.stop(true).await;
        }
        journal.close().await;
        match ended {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(ServeError::Ended(error)),
            Some(Err(error)) => Err(ServeError::Ended(io::Error::other(error))),
        }
    }
}

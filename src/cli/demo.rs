//! `parley demo`: a server on a temporary folder, two scripted agents and the human, one question settled. Everything
//! goes over real HTTP and MCP; nothing here reaches into the server.

mod agent;
mod stage;
mod story;

use parley::config::Config;
use parley::local::Local;

use super::{Failure, Say};
use stage::Stage;

pub(super) fn run(say: &Say) -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(Failure::new)?;
    let mut config = Config::shipped();
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config.server.workers = 2;
    config.storage.data_dir = folder.path().join("data");
    let server = Local::start(config).map_err(Failure::new)?;
    let outcome = story::play(&Stage::new(say.json), &server);
    server.stop().map_err(Failure::new)?;
    outcome
}

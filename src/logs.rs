//! Logs: one subscriber, on standard error, for people or for machines. Knows no request, no token and no domain word.

use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::config::{LogFormat, LogSettings};

/// Keeps the logs alive; dropping it writes what is still buffered.
#[must_use = "dropping it ends the logs"]
pub struct Logs {
    _guard: WorkerGuard,
}

/// Starts the logs of this process. A second start in one process changes nothing.
///
/// A thread of its own does the writing, and when standard error cannot keep up, lines are lost rather than requests
/// held up.
pub fn start(settings: &LogSettings) -> Result<Logs, ParseError> {
    let (writer, guard) = NonBlocking::new(std::io::stderr());
    let filter = filter(&settings.level)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    let started = match settings.format {
        LogFormat::Human => {
            let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
            builder.with_ansi(colours && std::env::var_os("NO_COLOR").is_none()).try_init()
        }
        LogFormat::Json => builder.json().flatten_event(true).with_ansi(false).try_init(),
    };
    if started.is_err() {
        tracing::debug!("the logs of this process were started before");
    }
    Ok(Logs { _guard: guard })
}

/// What `logs.level` says, or why it says nothing.
pub(crate) fn filter(level: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::builder().with_regex(false).parse(level)
}

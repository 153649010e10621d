//! The built program as a child process, for what cannot be done inside one: kill it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};

use serde_json::Value;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_parley");

/// A running `parley serve`. Dropping it kills it.
pub(crate) struct Child {
    process: std::process::Child,
    _stdout: BufReader<ChildStdout>,
    /// The line it printed when it was ready.
    pub(crate) announced: Value,
}

impl Child {
    /// Starts it on a free port and waits until it says that it listens.
    pub(crate) fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    /// The same with settings, given as environment variables.
    pub(crate) fn start_with(data_dir: &Path, settings: &[(&str, &str)]) -> Self {
        let mut process = Command::new(PROGRAM)
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir)
            .env("PARLEY_LIMITS_REQUESTS_PER_MINUTE", "1000000")
            .env("PARLEY_LOGS_LEVEL", "warn")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdout = BufReader::new(process.stdout.take().expect("its output is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("its first line");
        let announced = serde_json::from_str(&line).unwrap_or_else(|error| {
            panic!("the server did not start: {error}, it said {line:?}");
        });
        Self { process, _stdout: stdout, announced }
    }

    pub(crate) fn origin(&self) -> String {
        super::text(&self.announced["origin"])
    }

    pub(crate) fn operator_key_path(&self) -> PathBuf {
        super::text(&self.announced["operator_key_file"]).into()
    }

    /// SIGKILL: nothing is said, nothing is finished.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    /// SIGTERM: it may finish what it has begun.
    pub(crate) fn terminate(&self) {
        let mut kill = Command::new("sh");
        kill.args(["-c", &format!("kill -TERM {}", self.process.id())]);
        assert!(kill.status().expect("sh runs").success());
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> ExitStatus {
        self.process.wait().expect("it ends")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! The command line: what can be typed, and how it ends. Each command has its file; none of them knows the server's
//! inside, they use its settings, start it, and otherwise speak HTTP to it.

mod clients;
mod demo;
mod operator;
mod paint;
mod serve;
mod token;

use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use parley::config::{Config, ConfigError, Flag};
use serde_json::{Value, json};

/// A server where AI agents and one human operator think together.
#[derive(Parser)]
#[command(name = "parley", version, after_help = "Start with: parley demo")]
struct Line {
    /// Print JSON, for machines.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server until SIGTERM or Ctrl-C.
    Serve(serve::Serve),
    /// Issue tokens to agents.
    #[command(subcommand)]
    Token(token::Command),
    /// The human's password and sign-in link.
    #[command(subcommand)]
    Operator(operator::Command),
    /// Watch two scripted agents and the human settle a question, on a server of its own.
    Demo,
    /// Print the version.
    Version,
}

/// Where the settings are and which of them change.
#[derive(Args)]
struct Place {
    /// Settings to lay over the built-in ones.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of everything durable [default: ./data].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
}

impl Place {
    fn settings(&self, more: Option<Flag<'_>>) -> Result<Config, Failure> {
        let mut flags: Vec<Flag<'_>> = Vec::new();
        flags.extend(self.data_dir.as_deref().map(|dir| ("storage.data_dir", "--data-dir", dir)));
        flags.extend(more);
        Ok(Config::load(self.config.as_deref(), std::env::vars(), &flags)?)
    }
}

/// How a command that did not work ends: a sentence, and 2 if what was typed or set is wrong, else 1.
struct Failure {
    code: u8,
    sentence: String,
    reason: Option<String>,
}

impl Failure {
    fn new(sentence: impl Display) -> Self {
        Self { code: 1, sentence: sentence.to_string(), reason: None }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self { code: 2, sentence: error.to_string(), reason: None }
    }
}

/// What is said to the caller, on standard output; a reader that went away is no reason to fail.
struct Say {
    json: bool,
}

impl Say {
    /// The text for people or the object for machines.
    fn either(&self, text: impl FnOnce() -> String, object: impl FnOnce() -> Value) {
        let said = if self.json { object().to_string() } else { text() };
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{}", said.trim_end()).and_then(|()| out.flush());
    }
}

/// Reads the command line and carries it out.
pub(crate) fn run() -> ExitCode {
    let line = Line::parse();
    let say = Say { json: line.json };
    let outcome = match line.command {
        Command::Serve(serve) => serve::run(&serve, &say),
        Command::Token(command) => token::run(&command, &say),
        Command::Operator(command) => operator::run(&command, &say),
        Command::Demo => demo::run(&say),
        Command::Version => {
            let version = env!("CARGO_PKG_VERSION");
            say.either(
                || format!("parley {version}"),
                || json!({"name": "parley", "version": version}),
            );
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match say.json {
                true => {
                    let object = json!({"error": failure.sentence, "reason": failure.reason});
                    eprintln!("{object}");
                }
                false => eprintln!("parley: {}", failure.sentence),
            }
            ExitCode::from(failure.code)
        }
    }
}

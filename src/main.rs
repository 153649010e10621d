//! The program. It decides nothing: see `cli` for the commands and the library for the server.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}

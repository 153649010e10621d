//! Colours, for terminals only.

use std::fmt::Display;
use std::io::IsTerminal;

/// Paints, or leaves text as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(bool);

impl Paint {
    /// Colours if standard output is a terminal that wants them.
    pub(super) fn for_stdout() -> Self {
        Self(std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none())
    }

    /// Whether a person is watching.
    pub(super) fn is_on(self) -> bool {
        self.0
    }

    pub(super) fn bold(self, text: impl Display) -> String {
        self.code("1", text)
    }

    pub(super) fn dim(self, text: impl Display) -> String {
        self.code("2", text)
    }

    pub(super) fn red(self, text: impl Display) -> String {
        self.code("31", text)
    }

    pub(super) fn green(self, text: impl Display) -> String {
        self.code("32", text)
    }

    pub(super) fn yellow(self, text: impl Display) -> String {
        self.code("33", text)
    }

    pub(super) fn cyan(self, text: impl Display) -> String {
        self.code("36", text)
    }

    fn code(self, code: &str, text: impl Display) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

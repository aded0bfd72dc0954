//! Terminal colours, if the terminal shows them.

use crate::report::matrix::State;
use comfy_table::Color;

/// The style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Emphasized text.
    Bold,
    /// Secondary text.
    Dim,
    /// The colour of a state.
    State(State),
}

/// Returns the colour of a state in tables.
pub(super) fn color_of(state: State) -> Color {
    match state {
        State::Exact => Color::Green,
        State::Bound => Color::Cyan,
        State::Fail => Color::Red,
        State::UnexpectedPass => Color::Magenta,
        State::ExpectedFailure => Color::Yellow,
        State::Unsupported | State::NotRun | State::Undefined => Color::DarkGrey,
    }
}

/// Wraps the text in SGR escapes if `color` is set.
pub fn paint(text: &str, style: Style, color: bool) -> String {
    let code = match style {
        Style::Bold => "1",
        Style::Dim => "2",
        Style::State(state) => match color_of(state) {
            Color::Green => "32",
            Color::Cyan => "36",
            Color::Red => "1;31",
            Color::Magenta => "1;35",
            Color::Yellow => "33",
            _ => "2",
        },
    };
    if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}

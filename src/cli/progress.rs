//! Progress bars and spinners on standard error: on a terminal only, and never with `--quiet`.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::LazyLock;
use std::time::Duration;

/// All bars of the process: several stack instead of overwriting each other, and an interrupt finds
/// them. It draws nothing where standard error is no terminal.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

const BAR: &str = "{prefix:.bold} {bar:30.cyan/dim} {human_pos}/{human_len} {msg:.dim} {eta:.dim}";
const SPINNER: &str = "{prefix:.bold} {spinner:.cyan} {msg:.dim} {elapsed:.dim}";
const DONE: &str = "{prefix:.bold} {msg:.dim}";

/// The filled part, its end, and the rest.
const BAR_CHARACTERS: &str = "━╸─";

/// Fast enough to look alive, slow enough to cost nothing.
const TICK: Duration = Duration::from_millis(100);

/// A bar or spinner. It may be shared by threads. It vanishes when dropped, on success and on error
/// alike, so that the terminal keeps results and messages only; [`Progress::done`] leaves one line.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar for work of a known amount.
    pub fn bar(label: &str, total: u64, quiet: bool) -> Progress {
        let bar = start(label, ProgressBar::new(total), quiet);
        bar.set_style(style(BAR).progress_chars(BAR_CHARACTERS));
        Progress(bar)
    }

    /// A spinner for work of an unknown amount.
    pub fn spinner(label: &str, quiet: bool) -> Progress {
        let bar = start(label, ProgressBar::no_length(), quiet);
        bar.set_style(style(SPINNER));
        Progress(bar)
    }

    /// Counts some work as done.
    pub fn advance(&self, amount: u64) {
        self.0.inc(amount);
    }

    /// Says how much work is done in all.
    pub fn set(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Shows a word on what is going on beside the bar.
    pub fn message(&self, message: impl Into<String>) {
        self.0.set_message(message.into());
    }

    /// Leaves the label and a last word in the place of the bar.
    pub fn done(self, message: impl Into<String>) {
        self.0.disable_steady_tick();
        self.0.set_style(style(DONE));
        self.0.finish_with_message(message.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if !self.0.is_finished() {
            self.0.finish_and_clear();
        }
    }
}

/// Writes a message to standard error without tearing a bar apart.
pub fn suspend<T>(write: impl FnOnce() -> T) -> T {
    BARS.suspend(write)
}

/// Removes every bar, for a process that is about to end.
pub(super) fn clear() {
    // Nothing can be done about a terminal that refuses.
    let _ = BARS.clear();
}

fn start(label: &str, bar: ProgressBar, quiet: bool) -> ProgressBar {
    let bar = if quiet {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        bar
    } else {
        BARS.add(bar)
    };
    bar.set_prefix(label.to_owned());
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

/// The style of one of the templates above; a test sees to it that they are valid.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_valid() {
        for template in [BAR, SPINNER, DONE] {
            ProgressStyle::with_template(template).unwrap();
        }
    }

    #[test]
    fn quiet_draws_nothing() {
        let progress = Progress::bar("Imputing", 10, true);
        assert!(progress.0.is_hidden());
        progress.advance(10);
        progress.done("10 tables");
        assert!(Progress::spinner("Calibrating", true).0.is_hidden());
    }
}

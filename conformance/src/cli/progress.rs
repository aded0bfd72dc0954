//! Progress: a bar on a terminal, a line a quarter of the way elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// The progress of one device.
pub struct Progress {
    bar: Option<ProgressBar>,
    device: String,
    total: u64,
    done: u64,
}

impl Progress {
    /// Of so many cells; 0 where that is not known.
    pub fn new(device: &str, total: usize) -> Self {
        let total = total as u64;
        let bar = std::io::stderr().is_terminal().then(|| {
            let (bar, template) = match total {
                0 => (ProgressBar::new_spinner(), "{prefix:10} {spinner} {pos} cells  {msg}"),
                _ => (ProgressBar::new(total), "{prefix:10} {bar:40.cyan} {pos}/{len} cells  {msg}  eta {eta}"),
            };
            let style = ProgressStyle::with_template(template).expect("the template is well formed");
            bar.with_prefix(device.to_string()).with_style(style)
        });
        Self { bar, device: device.into(), total, done: 0 }
    }

    /// One more is done.
    pub fn step(&mut self, what: &str) {
        self.done += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(what.to_string());
                bar.inc(1);
            }
            None => {
                let quarter = |n: u64| (n * 4).checked_div(self.total).unwrap_or(0);
                if quarter(self.done) > quarter(self.done - 1) {
                    eprintln!("{}: {} of {} cells", self.device, self.done, self.total);
                }
            }
        }
    }

    /// Still at it.
    pub fn note(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_string());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! Progress: a bar a device on a terminal, a line a quarter of the way elsewhere.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bars of devices that run at the same time, one under the other.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// The progress of one device.
pub struct Progress {
    bar: Option<ProgressBar>,
    device: String,
    total: u64,
    done: AtomicU64,
}

impl Progress {
    /// Of so many cells; 0 where that is not known.
    pub fn new(device: &str, total: usize) -> Self {
        let total = total as u64;
        let bar = std::io::stderr().is_terminal().then(|| {
            let (bar, template) = match total {
                0 => (ProgressBar::new_spinner(), "{prefix:16} {spinner} {pos} cells  {msg}"),
                _ => (ProgressBar::new(total), "{prefix:16} {bar:40.cyan} {pos}/{len} cells  {msg}  eta {eta}"),
            };
            let style = ProgressStyle::with_template(template).expect("the template is well formed");
            BARS.add(bar.with_prefix(device.to_string()).with_style(style))
        });
        Self { bar, device: device.into(), total, done: AtomicU64::new(0) }
    }

    /// One more is done.
    pub fn step(&self, what: &str) {
        let before = self.done.fetch_add(1, Ordering::Relaxed);
        match &self.bar {
            Some(bar) => {
                bar.set_message(what.to_string());
                bar.inc(1);
            }
            None => {
                let quarter = |n: u64| (n * 4).checked_div(self.total).unwrap_or(0);
                if quarter(before + 1) > quarter(before) {
                    eprintln!("{}: {} of {} cells", self.device, before + 1, self.total);
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

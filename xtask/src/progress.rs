//! Shows the progress of compiling the kernels. Cargo does not show the output of build scripts, so
//! the build script of the kernels writes a file: a line with the number of compilations, then one
//! byte per finished compilation.

use crate::shell::target_dir;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The variable that names the file; the kernels' build script uses the same name.
const VARIABLE: &str = "ISOBIT_KERNEL_PROGRESS";

/// The interval at which the file is read.
const LOOKED_AT: Duration = Duration::from_millis(250);

/// Without a terminal, a line is printed for each of this number of parts.
const PARTS: u64 = 10;

/// Shows the progress of a build's kernels until it is dropped.
pub struct Progress {
    bar: ProgressBar,
    over: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts showing the progress of a build that is about to start.
    pub fn start(command: &mut Command) -> Self {
        let file = target_dir().join(format!(".kernel-progress-{}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        command.env(VARIABLE, &file);
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let over = Arc::new(AtomicBool::new(false));
        let watcher = std::thread::spawn({
            let (bar, over) = (bar.clone(), over.clone());
            move || watch(&file, &bar, &over)
        });
        Self { bar, over, watcher: Some(watcher) }
    }

    /// Writes to the terminal without disturbing the progress bar.
    pub fn beside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.join().expect("watching does not panic");
        }
    }
}

fn watch(file: &PathBuf, bar: &ProgressBar, over: &AtomicBool) {
    let terminal = std::io::stderr().is_terminal();
    let mut told = 0;
    while !over.load(Ordering::Relaxed) {
        if let Some((done, all)) = read(file) {
            if terminal {
                draw(bar, done, all);
            } else if let Some(part) = next_part(done, all, told) {
                eprintln!("kernels: {done} of {all} compiled");
                told = part;
            }
        }
        std::thread::sleep(LOOKED_AT);
    }
    bar.finish_and_clear();
    let _ = std::fs::remove_file(file);
}

fn draw(bar: &ProgressBar, done: u64, all: u64) {
    if bar.length() != Some(all) {
        let style = "kernels [{bar:40}] {pos} of {len} compiled, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a template that serves").progress_chars("=> "));
        bar.set_length(all);
        bar.reset();
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    bar.set_position(done);
    if done == all {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// Returns the current part if it is later than the part last shown. Returns `None` if all kernels
/// existed before.
fn next_part(done: u64, all: u64, told: u64) -> Option<u64> {
    let part = (done * PARTS).checked_div(all)?;
    let news = part > told && (told > 0 || done < all);
    news.then_some(part)
}

/// Reads the number of finished compilations and the number of all compilations.
fn read(file: &Path) -> Option<(u64, u64)> {
    let text = std::fs::read(file).ok()?;
    let end = text.iter().position(|&b| b == b'\n')?;
    let all: u64 = std::str::from_utf8(&text[..end]).ok()?.parse().ok()?;
    let done = (text.len() - end - 1) as u64;
    Some((done.min(all), all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_tells_how_many_are_done() {
        let file = std::env::temp_dir().join(format!("isobit-progress-{}", std::process::id()));
        assert_eq!(read(&file), None);
        for (text, expected) in [("", None), ("12", None), ("12\n", Some((0, 12))), ("12\n.....", Some((5, 12)))] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(read(&file), expected, "{text:?}");
        }
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn each_tenth_is_told_once() {
        let mut told = 0;
        let mut lines = 0;
        for done in 0..=1756 {
            if let Some(part) = next_part(done, 1756, told) {
                (told, lines) = (part, lines + 1);
            }
        }
        assert_eq!((told, lines), (10, 10));
        assert_eq!(next_part(1756, 1756, 0), None, "all existed before");
        assert_eq!(next_part(0, 0, 0), None);
    }
}

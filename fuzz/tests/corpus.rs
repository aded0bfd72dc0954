//! Every committed input: the corpus, and what once broke a target. Each stays within the limits.

use isobit_fuzz::{BYTES, SECONDS, TARGETS};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Counts what is allocated.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller meets the requirements of this function, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn inputs(folder: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut found: Vec<_> = entries.map(|entry| entry.expect("a committed file").path()).collect();
    found.sort();
    found
}

/// All inputs in one test: what is allocated counts for the whole process.
#[test]
fn every_committed_input_is_read_within_the_limits() {
    for target in TARGETS {
        let corpus = inputs("corpus", target.name);
        assert!(!corpus.is_empty(), "{} has no corpus", target.name);
        for file in corpus.into_iter().chain(inputs("regressions", target.name)) {
            let data = std::fs::read(&file).expect("a committed file");
            let (before, start) = (NOW.load(Ordering::Relaxed), Instant::now());
            MOST.store(before, Ordering::Relaxed);
            eprintln!("{}", file.display());
            (target.run)(&data);
            let (took, most) = (start.elapsed(), MOST.load(Ordering::Relaxed).saturating_sub(before));
            assert!(took < Duration::from_secs(SECONDS), "{} took {took:?}", file.display());
            assert!(most < BYTES, "{} took {most} bytes", file.display());
        }
    }
}

#[test]
fn the_folders_are_those_of_targets_and_small() {
    let mut bytes = 0;
    for kind in ["corpus", "regressions"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind);
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.map(|entry| entry.expect("a committed folder")) {
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            assert!(isobit_fuzz::find(&name).is_some(), "{kind}/{name} is of no target");
            bytes += inputs(kind, &name).iter().map(|file| file.metadata().expect("a file").len()).sum::<u64>();
        }
    }
    assert!(bytes < 300 << 10, "the inputs have {bytes} bytes");
}

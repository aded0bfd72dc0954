//! The folder of compiled code: damaged, misplaced and future files, a full disk, a folder that
//! cannot be made, and two processes at once. It only costs time: the code is compiled again.

use crate::bench::works;
use crate::card::Card;
use crate::child::{Ended, command, run as start};
use crate::row::Row;
use isobit::{AnyDevice, BackendDevice as _, BackendStorage as _, KernelSource, LaunchConfig};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// Compiles and runs a kernel on a new device. Returns whether it was compiled, not read.
fn compiles(card: &Card, value: u32) -> bool {
    let device = AnyDevice::open(card.opened_as).expect("the simulated card opens");
    let text = format!("extern \"C\" __global__ void k(unsigned *x) {{ x[threadIdx.x] = {value}u; }}");
    let kernel = device.compile("k", &KernelSource::new("k.cu", text)).expect("it compiles");
    let mut storage = device.storage_from_slice(&[0u32; 32]).expect("32 numbers fit");
    // SAFETY: the kernel writes an element per thread of one block of 32.
    unsafe { kernel.builder().arg_mut(&mut storage).launch(LaunchConfig::linear(1, 32)) }.expect("it is launched");
    assert_eq!(storage.to_vec::<u32>().expect("it is read"), [value; 32], "another kernel ran");
    let counters = device.counters();
    assert_eq!(counters.compiles + counters.compile_hits, 1);
    counters.compiles == 1
}

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("ISOBIT_COMPILE_CACHE").expect("the parent names a folder"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The phase: what the parent asks for with a variable.
pub fn inside(card: &'static Card) -> Vec<Row> {
    match std::env::var("ISOBIT_FAULTS_CACHE").as_deref() {
        Ok("damaged") => damaged(card),
        // The folder is damaged, full, or shared with another process.
        _ => {
            let compiled = compiles(card, 7);
            vec![Row::new("told", "", if compiled { "compiled" } else { "read" }, "")]
        }
    }
}

/// Files that are there and cannot be used.
fn damaged(card: &Card) -> Vec<Row> {
    let folder = folder();
    assert!(compiles(card, 7), "there is nothing to read yet");
    assert!(!compiles(card, 7), "it is read");
    let [file] = &files(&folder)[..] else { panic!("{:?}", files(&folder)) };
    let whole = std::fs::read(file).expect("the file is there");
    let mut rows = Vec::new();
    let mut row = |what: &str, how: &str| rows.push(Row::new(what, how, "works", "compiled again, result"));

    std::fs::write(file, &whole[..whole.len() / 2]).expect("it can be written");
    assert!(compiles(card, 7), "a file that is cut off is not used");
    assert!(!compiles(card, 7), "and is replaced");
    row("a file of compiled code that is cut off", "half of the file");

    std::fs::write(file, "").expect("it can be written");
    assert!(compiles(card, 7), "an empty file is not used");
    row("a file of compiled code that is empty", "no byte");

    assert!(compiles(card, 8), "another kernel is compiled");
    let other = files(&folder).into_iter().find(|other| other != file).expect("it has a file");
    std::fs::copy(&other, file).expect("it can be copied");
    assert!(compiles(card, 7), "the code of another kernel is not used");
    row("a file of compiled code that belongs to another kernel", "a copy under this name");

    std::fs::remove_file(file).expect("it can be removed");
    std::fs::create_dir(file).expect("a folder can have this name");
    assert!(compiles(card, 7), "a folder is no file");
    std::fs::remove_dir(file).expect("it can be removed");
    row("a folder in the place of a file of compiled code", "a folder");

    assert!(compiles(card, 7));
    let future = SystemTime::now() + Duration::from_secs(10 * 365 * 86400);
    let opened = std::fs::File::options().write(true).open(file).expect("it is there");
    opened.set_modified(future).expect("a file may be of the future");
    assert!(!compiles(card, 7), "the time of a file means nothing");
    rows.push(Row::new("a file of compiled code from the future", "ten years", "works", "read, result"));

    let device = AnyDevice::open(card.opened_as).expect("it opens");
    works(&device).expect("it works");
    rows
}

/// Asserts the one row of a process.
#[track_caller]
fn tells(ended: Ended, outcome: &str) {
    let said = ended.said.clone();
    let rows = ended.passes();
    assert_eq!(rows.iter().map(|row| row.outcome.as_str()).collect::<Vec<_>>(), [outcome], "{said}");
}

/// Whether there is a compiler for the card.
pub fn can_run(card: &Card) -> bool {
    card.compiles_on_request() || std::env::var_os("ISOBIT_NVRTC").is_some()
}

pub fn run(card: &'static Card) -> Vec<Row> {
    if !can_run(card) {
        assert!(std::env::var_os("CI").is_none(), "ISOBIT_NVRTC is not set");
        eprintln!(
            "skipped: the compile cache on {}: ISOBIT_NVRTC names no compiler; `cargo xtask test` gets it",
            card.id
        );
        return Vec::new();
    }
    let dir = tempfile::tempdir().expect("a folder");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let damaged = [("ISOBIT_COMPILE_CACHE", path("damaged")), ("ISOBIT_FAULTS_CACHE", "damaged".into())];
    let mut rows = start(card, "cache", &damaged.each_ref().map(|(name, value)| (*name, value.as_str()))).passes();

    std::fs::write(path("file"), "").expect("a file");
    tells(start(card, "cache", &[("ISOBIT_COMPILE_CACHE", &path("file/below"))]), "compiled");
    rows.push(Row::new("a folder of compiled code that cannot be made", "below a file", "works", "result"));

    // The limit of the size of files stands for a full disk: every write to a file fails.
    let full = path("full");
    let inner = command(card, "cache", &card.installation(), &[("ISOBIT_COMPILE_CACHE", &full)]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    shell.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    inner.get_envs().filter(|(_, value)| value.is_none()).for_each(|(name, _)| _ = shell.env_remove(name));
    // AMD's compiler writes files of its own, so there the disk is full only for small ones.
    if card.vendor == 0 {
        tells(Ended::of(shell.output().expect("a shell")), "compiled");
        assert_eq!(files(Path::new(&full)), Vec::<PathBuf>::new(), "half a file is left");
        rows.push(Row::new("a full disk", "`ulimit -f 0`", "works", "result, nothing is left"));
    }

    let shared = path("shared");
    let both: Vec<_> = (0..2)
        .map(|_| {
            let mut process = command(card, "cache", &card.installation(), &[("ISOBIT_COMPILE_CACHE", &shared)]);
            process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("this program starts again")
        })
        .collect();
    for process in both {
        let ended = Ended::of(process.wait_with_output().expect("it ends"));
        let said = ended.said.clone();
        assert_eq!(ended.passes().len(), 1, "{said}");
    }
    assert_eq!(files(Path::new(&shared)).len(), 1, "one file, and nothing unfinished");
    tells(start(card, "cache", &[("ISOBIT_COMPILE_CACHE", &shared)]), "read");
    rows.push(Row::new(
        "two processes that compile the same at once",
        "one folder",
        "works",
        "result, one file, which is read",
    ));
    rows
}

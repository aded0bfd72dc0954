//! Finds clang and compiles modules with it, in parallel, each once for a given content.

use super::code::packed;
use super::manifest::Module;
use super::progress::Progress;
use super::sources;
use super::steps::Steps;
use super::target::Target;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use twox_hash::XxHash3_128;

/// A suitable compiler.
pub struct Clang {
    path: PathBuf,
    /// The full text of its version.
    version: String,
}

/// One module for one target.
pub struct Job<'a> {
    pub module: &'a Module,
    pub target: Target,
    /// The hash of everything that it is compiled from.
    pub identity: u128,
}

impl Clang {
    /// Returns the name and version on one line.
    pub fn name(&self) -> &str {
        self.version.lines().next().unwrap_or_default()
    }

    /// Returns the command that compiles one file into another.
    pub fn command(&self, target: &Target, unit: &Path, output: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.args(target.flags()).arg("-I").arg(sources::root()).arg("-I").arg(sources::made());
        command.arg(unit).arg("-o").arg(output);
        command
    }
}

/// A job whose result is not cached: its index, and the name of its files in the cache.
struct Missing<'a> {
    position: usize,
    job: &'a Job<'a>,
    stem: String,
}

/// The maximum number of modules that one process compiles: what takes a few seconds.
const MOST_TOGETHER: usize = 16;

/// Compiles every job and returns the files in the same order. If any job fails, the build ends
/// with the messages of all failed jobs.
pub fn compile(clang: &Clang, jobs: &[Job<'_>]) -> Vec<PathBuf> {
    sources::write_made();
    let cache = cache_dir();
    std::fs::create_dir_all(&cache).unwrap_or_else(|e| panic!("{} cannot be made: {e}", cache.display()));
    let stems: Vec<String> = jobs.iter().map(|job| stem(clang, job)).collect();
    let files: Vec<PathBuf> = stems.iter().map(|stem| cache.join(format!("{stem}.bin"))).collect();
    let progress = Progress::start(jobs.len());
    let mut missing = Vec::new();
    for (position, (job, stem)) in jobs.iter().zip(stems).enumerate() {
        match files[position].exists() {
            true => progress.step(),
            false => missing.push(Missing { position, job, stem }),
        }
    }
    // The same number of threads that cargo uses.
    let threads = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(1).min(missing.len());
    // A small number of modules is distributed to the threads one by one.
    let together = (missing.len() / (8 * threads.max(1))).clamp(1, MOST_TOGETHER);
    let of_targets = missing.chunk_by(|a, b| a.job.target == b.job.target);
    let asked: Vec<_> = of_targets.map(|all| (Steps::of(clang, &all[0].job.target), all)).collect();
    let batches: Vec<_> =
        asked.iter().flat_map(|(steps, all)| all.chunks(together).map(move |batch| (steps.as_ref(), batch))).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        while let Some((number, &(steps, batch))) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, batches.get(i)?)))
        {
            let folder = cache.join(format!("{}-{number}.part", std::process::id()));
            for message in compile_batch(clang, steps, &folder, batch, &files, &progress) {
                failed.store(true, Ordering::Relaxed);
                message.lines().for_each(|l| println!("cargo::error={l}"));
            }
            // A leftover folder does no harm.
            let _ = std::fs::remove_dir_all(&folder);
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    if failed.into_inner() {
        std::process::exit(1);
    }
    files
}

/// Returns the name of a job's files in the cache, which identifies everything that they are made
/// from.
fn stem(clang: &Clang, Job { module, target, identity }: &Job<'_>) -> String {
    let mut hasher = XxHash3_128::new();
    hasher.write(&identity.to_le_bytes());
    hasher.write(clang.version.as_bytes());
    format!("{}-{}-{:032x}", module.name, target.arch, hasher.finish_128())
}

/// Compiles jobs of one target in a separate folder, and returns the messages of the failed ones.
fn compile_batch(
    clang: &Clang,
    steps: Option<&Steps>,
    folder: &Path,
    batch: &[Missing<'_>],
    files: &[PathBuf],
    progress: &Progress,
) -> Vec<String> {
    let target = &batch[0].job.target;
    let unit = |of: &Missing<'_>| folder.join(format!("{}.cu", of.stem));
    let fail =
        |of: &Missing<'_>, what: String| format!("kernel module {} for {}: {what}", of.job.module.name, target.arch);
    if let Err(e) = std::fs::create_dir_all(folder) {
        return vec![fail(&batch[0], format!("{} cannot be made: {e}", folder.display()))];
    }
    for of in batch {
        if let Err(e) = std::fs::write(unit(of), of.job.module.text()) {
            return vec![fail(of, format!("{} cannot be written: {e}", unit(of).display()))];
        }
    }
    let units: Vec<PathBuf> = batch.iter().map(unit).collect();
    let compiled = steps.and_then(|steps| steps.run(&units));
    let mut failures = Vec::new();
    for (i, of) in batch.iter().enumerate() {
        let result = match &compiled {
            Some(compiled) => Ok(compiled[i].clone()),
            None => by_driver(clang, target, &units[i]),
        };
        // Renamed when complete, so that an interrupted build leaves no partial file under the
        // final name.
        let kept = result.and_then(|part| {
            let rename = std::fs::rename(&part, &files[of.position]);
            rename.map_err(|e| format!("{} cannot be renamed: {e}", part.display()))
        });
        match kept {
            // Here, on all threads: it takes seconds for the modules of three targets.
            Ok(()) => drop(packed(&files[of.position], target.vendor)),
            Err(what) => failures.push(fail(of, what)),
        }
        progress.step();
    }
    failures
}

fn by_driver(clang: &Clang, target: &Target, unit: &Path) -> Result<PathBuf, String> {
    let part = unit.with_extension("out");
    let output = clang.command(target, unit, &part).output();
    let output = output.map_err(|e| format!("{} does not start: {e}", clang.path.display()))?;
    match output.status.success() {
        true => Ok(part),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Returns `target/kernels` for every profile, so that all builds of a checkout share it.
fn cache_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("ISOBIT_KERNEL_CACHE") {
        return dir.into();
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // OUT_DIR is <target>/<profile>/build/<package>/out.
    out.ancestors().nth(4).unwrap_or(&out).join("kernels")
}

/// Returns the compiler that the environment names, or the newest on the path.
pub fn find() -> Option<Clang> {
    if let Some(named) = std::env::var_os("ISOBIT_CLANG") {
        if named == "none" {
            return None;
        }
        let path = PathBuf::from(named);
        return match version_of(&path) {
            Some(version) if major(&version).is_some_and(|m| m >= 19) => Some(Clang { path, version }),
            found => panic!("ISOBIT_CLANG={} is not clang 19 or newer: {found:?}", path.display()),
        };
    }
    let numbered = (19..=30).rev().map(|v| format!("clang-{v}"));
    numbered.chain(["clang".to_string()]).find_map(|name| {
        let version = version_of(Path::new(&name))?;
        (major(&version)? >= 19).then(|| Clang { path: PathBuf::from(name), version })
    })
}

fn version_of(clang: &Path) -> Option<String> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn major(version: &str) -> Option<u32> {
    version.split("version ").nth(1)?.split('.').next()?.parse().ok()
}

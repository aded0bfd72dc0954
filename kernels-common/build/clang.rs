//! Finding clang and compiling modules with it, in parallel, each once for a given content.

use super::manifest::Module;
use super::progress::Progress;
use super::sources;
use super::target::Target;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use twox_hash::XxHash3_128;

/// A compiler that serves.
pub struct Clang {
    path: PathBuf,
    /// All that it says of its version.
    version: String,
}

/// One module for one target.
pub struct Job<'a> {
    pub module: &'a Module,
    pub target: &'a Target,
    /// What it is compiled from.
    pub identity: u128,
}

impl Clang {
    /// Name and version, in one line.
    pub fn name(&self) -> &str {
        self.version.lines().next().unwrap_or_default()
    }
}

/// Compiles every job and gives the files in their order. Where one fails the build ends, with the words of each that did.
pub fn compile(clang: &Clang, jobs: &[Job<'_>]) -> Vec<PathBuf> {
    let cache = cache_dir();
    std::fs::create_dir_all(&cache).unwrap_or_else(|e| panic!("{} cannot be made: {e}", cache.display()));
    let progress = Progress::start(jobs.len());
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let files: Mutex<Vec<Option<PathBuf>>> = Mutex::new(vec![None; jobs.len()]);
    let work = || {
        while let Some((i, job)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, jobs.get(i)?))) {
            let compiled = compile_one(clang, &cache, job);
            progress.step();
            match compiled {
                Ok(file) => files.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(file),
                Err(message) => {
                    failed.store(true, Ordering::Relaxed);
                    message.lines().for_each(|l| println!("cargo::error={l}"));
                }
            }
        }
    };
    // As many as cargo would start.
    let threads = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(1).min(jobs.len());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    if failed.into_inner() {
        std::process::exit(1);
    }
    let files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.into_iter().map(|file| file.expect("none failed")).collect()
}

fn compile_one(clang: &Clang, cache: &Path, Job { module, target, identity }: &Job<'_>) -> Result<PathBuf, String> {
    let mut hasher = XxHash3_128::new();
    hasher.write(&identity.to_le_bytes());
    hasher.write(clang.version.as_bytes());
    let stem = format!("{}-{}-{:032x}", module.name, target.arch, hasher.finish_128());
    let (unit, done) = (cache.join(format!("{stem}.cu")), cache.join(format!("{stem}.bin")));
    if done.exists() {
        return Ok(done);
    }
    let fail = |what: String| format!("kernel module {} for {}: {what}", module.name, target.arch);
    std::fs::write(&unit, module.text()).map_err(|e| fail(format!("{} cannot be written: {e}", unit.display())))?;
    let part = cache.join(format!("{stem}.{}.part", std::process::id()));
    let output = Command::new(&clang.path)
        .args(target.flags())
        .arg("-I")
        .arg(sources::root())
        .arg(&unit)
        .arg("-o")
        .arg(&part)
        .output()
        .map_err(|e| fail(format!("{} does not start: {e}", clang.path.display())))?;
    if !output.status.success() {
        return Err(fail(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    // Renamed when whole, so that an interrupted build leaves no half file under the final name.
    std::fs::rename(&part, &done).map_err(|e| fail(format!("{} cannot be renamed: {e}", part.display())))?;
    Ok(done)
}

/// `target/kernels`, whatever the profile, so that every build of a checkout shares it.
fn cache_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("ISOBIT_KERNEL_CACHE") {
        return dir.into();
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // OUT_DIR is <target>/<profile>/build/<package>/out.
    out.ancestors().nth(4).unwrap_or(&out).join("kernels")
}

/// The compiler that the environment names, or the newest on the path.
pub fn find() -> Option<Clang> {
    if let Some(named) = std::env::var_os("ISOBIT_CLANG") {
        if named == "none" {
            return None;
        }
        let path = PathBuf::from(named);
        return match version_of(&path) {
            Some(version) if major(&version).is_some_and(|m| m >= 19) => Some(Clang { path, version }),
            found => panic!("ISOBIT_CLANG={} is no clang 19 or newer: {found:?}", path.display()),
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

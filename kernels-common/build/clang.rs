//! Finding clang and compiling modules with it, in parallel, each once for a given content.

use super::manifest::Module;
use super::progress::Progress;
use super::sources;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags for every target. Division and square root are IEEE and denormals are kept by clang's defaults for both targets, but for
/// those that are spelled out.
const FLAGS: &[&str] = &[
    "-O3",
    "-std=c++20",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-function",
    // An unrolling hint that a target does not follow is no fault of the source.
    "-Wno-pass-failed",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vendor {
    Nvptx,
    Amdgcn,
}

#[derive(Debug, Clone)]
pub struct Target {
    pub vendor: Vendor,
    pub arch: String,
}

impl Target {
    fn flags(&self) -> Vec<String> {
        let flags: &[&str] = match self.vendor {
            Vendor::Nvptx => &["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S"],
            Vendor::Amdgcn => &[
                "-x",
                "hip",
                "--offload-device-only",
                "--no-gpu-bundle-output",
                "-nogpuinc",
                "-nogpulib",
                "-fuse-ld=lld",
                "-fhip-fp32-correctly-rounded-divide-sqrt",
            ],
        };
        let mut flags: Vec<String> = flags.iter().map(|s| s.to_string()).collect();
        // bf16 conversions are PTX 7.0 instructions of sm_80; clang without a CUDA toolkit assumes an older PTX.
        let sm: Option<u32> = self.arch.strip_prefix("sm_").and_then(|n| n.parse().ok());
        if sm.is_some_and(|sm| sm >= 80) {
            flags.extend(["--cuda-feature=+ptx78".into(), "-DISOBIT_PTX70".into()]);
        }
        flags.push(match self.vendor {
            Vendor::Nvptx => format!("--cuda-gpu-arch={}", self.arch),
            Vendor::Amdgcn => format!("--offload-arch={}", self.arch),
        });
        flags
    }
}

/// What was compiled, and with what.
pub struct Built {
    /// Compiler and version, or why there is none.
    pub compiler: String,
    pub flags: String,
    /// For each module (by position), the compiled file of each target.
    pub code: Vec<Vec<(Target, PathBuf)>>,
}

/// The targets that features and environment choose.
pub fn targets() -> Vec<Target> {
    let mut targets = Vec::new();
    for (feature, variable, default, vendor) in [
        ("CARGO_FEATURE_CUDA", "ISOBIT_CUDA_ARCHS", "sm_80", Vendor::Nvptx),
        ("CARGO_FEATURE_ROCM", "ISOBIT_ROCM_ARCHS", "gfx90a,gfx942,gfx1100", Vendor::Amdgcn),
    ] {
        if std::env::var_os(feature).is_some() {
            let archs = std::env::var(variable).unwrap_or_else(|_| default.into());
            for arch in archs.split(',').map(str::trim).filter(|a| !a.is_empty()) {
                targets.push(Target { vendor: vendor.clone(), arch: arch.into() });
            }
        }
    }
    targets
}

/// Compiles every module for every target.
pub fn compile(modules: &[Module], files: &[(String, String)], targets: &[Target]) -> Built {
    let none = |why: String| Built {
        compiler: why,
        flags: FLAGS.join(" "),
        code: modules.iter().map(|_| Vec::new()).collect(),
    };
    if targets.is_empty() {
        return none("none: no GPU driver is chosen".into());
    }
    let Some((clang, version)) = find() else {
        println!(
            "cargo::warning=no clang 19 or newer was found: kernel sources are embedded uncompiled, and devices compile what they use \
             with NVRTC or HIPRTC. Install clang-19 and lld-19, or name one in ISOBIT_CLANG."
        );
        return none("none: sources only, compiled by the device's run-time compiler".into());
    };
    let cache = cache_dir();
    std::fs::create_dir_all(&cache).unwrap_or_else(|e| panic!("{} cannot be made: {e}", cache.display()));
    let texts: BTreeMap<&str, &str> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let jobs: Vec<(usize, &Target)> = (0..modules.len()).flat_map(|m| targets.iter().map(move |t| (m, t))).collect();
    let progress = Progress::start(jobs.len());
    let results: Vec<Result<(usize, Target, PathBuf), String>> = jobs
        .into_par_iter()
        .map(|(m, target)| {
            let file = compile_one(&clang, &version, &cache, &texts, &modules[m], target)?;
            progress.step();
            Ok((m, target.clone(), file))
        })
        .collect();
    let mut code: Vec<Vec<(Target, PathBuf)>> = modules.iter().map(|_| Vec::new()).collect();
    let mut failed = false;
    for result in results {
        match result {
            Ok((m, target, file)) => code[m].push((target, file)),
            Err(message) => {
                failed = true;
                message.lines().for_each(|l| println!("cargo::error={l}"));
            }
        }
    }
    if failed {
        std::process::exit(1);
    }
    Built { compiler: version.lines().next().unwrap_or_default().to_string(), flags: FLAGS.join(" "), code }
}

fn compile_one(
    clang: &Path,
    version: &str,
    cache: &Path,
    files: &BTreeMap<&str, &str>,
    module: &Module,
    target: &Target,
) -> Result<PathBuf, String> {
    let flags: Vec<String> = FLAGS.iter().map(|s| s.to_string()).chain(target.flags()).collect();
    let text = module.text();
    let mut hasher = blake3::Hasher::new();
    for part in [version, &flags.join(" "), &text] {
        hasher.update(part.as_bytes()).update(&[0]);
    }
    for name in included(&text, files) {
        hasher.update(name.as_bytes()).update(&[0]).update(files[name].as_bytes()).update(&[0]);
    }
    let stem = format!("{}-{}-{}", module.name, target.arch, &hasher.finalize().to_hex()[..24]);
    let (unit, done) = (cache.join(format!("{stem}.cu")), cache.join(format!("{stem}.bin")));
    if done.exists() {
        return Ok(done);
    }
    let fail = |what: String| format!("kernel module {} for {}: {what}", module.name, target.arch);
    std::fs::write(&unit, &text).map_err(|e| fail(format!("{} cannot be written: {e}", unit.display())))?;
    let part = cache.join(format!("{stem}.{}.part", std::process::id()));
    let output = Command::new(clang)
        .args(&flags)
        .arg("-I")
        .arg(sources::root())
        .arg(&unit)
        .arg("-o")
        .arg(&part)
        .output()
        .map_err(|e| fail(format!("{} does not start: {e}", clang.display())))?;
    if !output.status.success() {
        return Err(fail(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    // Renamed when whole, so that an interrupted build leaves no half file under the final name.
    std::fs::rename(&part, &done).map_err(|e| fail(format!("{} cannot be renamed: {e}", part.display())))?;
    Ok(done)
}

/// Every file that a text includes, directly or not, in a fixed order.
fn included<'a>(text: &str, files: &BTreeMap<&'a str, &str>) -> Vec<&'a str> {
    let mut found = std::collections::BTreeSet::new();
    let mut texts = vec![text];
    while let Some(text) = texts.pop() {
        for line in text.lines() {
            let Some(name) = line.trim().strip_prefix("#include \"").and_then(|r| r.split('"').next()) else {
                continue;
            };
            if let Some((&name, &inner)) = files.get_key_value(name)
                && found.insert(name)
            {
                texts.push(inner);
            }
        }
    }
    found.into_iter().collect()
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

fn find() -> Option<(PathBuf, String)> {
    if let Some(named) = std::env::var_os("ISOBIT_CLANG") {
        if named == "none" {
            return None;
        }
        let path = PathBuf::from(named);
        return match version_of(&path) {
            Some(version) if major(&version).is_some_and(|m| m >= 19) => Some((path, version)),
            found => panic!("ISOBIT_CLANG={} is no clang 19 or newer: {found:?}", path.display()),
        };
    }
    let numbered = (19..=30).rev().map(|v| format!("clang-{v}"));
    numbered.chain(["clang".to_string()]).find_map(|name| {
        let version = version_of(Path::new(&name))?;
        (major(&version)? >= 19).then(|| (PathBuf::from(name), version))
    })
}

fn version_of(clang: &Path) -> Option<String> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn major(version: &str) -> Option<u32> {
    version.split("version ").nth(1)?.split('.').next()?.parse().ok()
}

//! Builds a new program that depends on the packages, without clang and without a network, measures
//! the build, and runs the program on both simulated GPUs.

use crate::shell::{self, cargo, root, target_dir};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The dependency options of a program that runs on every GPU.
const EVERYTHING: &str = "features = [\"cuda\", \"rocm\"]";

/// The dependency options for only the code of the development targets.
const DEVELOPMENT: &str =
    "default-features = false, features = [\"cuda\", \"rocm\", \"sm_80\", \"gfx90a\", \"gfx1100\"]";

/// Builds the program in both profiles, prints the cost, and runs it.
pub fn run(registry: &Path) -> Result<()> {
    let folder = target_dir().join("proof");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    let source =
        std::fs::read_to_string(root().join("examples/vector_add.rs")).context("the example cannot be read")?;
    write(&folder, "src/main.rs", &source)?;
    let replaced = format!(
        "[source.crates-io]\nreplace-with = \"packages\"\n\n[source.packages]\nlocal-registry = {:?}\n",
        registry.display().to_string()
    );
    write(&folder, ".cargo/config.toml", &replaced)?;

    let program = Program { folder };
    program.depends(EVERYTHING)?;
    println!("{}", program.build("all kernels, dev", &[])?);
    program.runs("debug")?;
    println!("{}", program.build("all kernels, release", &["--release"])?);
    program.runs("release")?;
    program.depends(DEVELOPMENT)?;
    println!("{}", program.build("sm_80, gfx90a, gfx1100, release again", &["--release"])?);
    program.runs("release")
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().context("it lies in the folder")?)?;
    std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
}

struct Program {
    folder: PathBuf,
}

impl Program {
    /// Writes the manifest with the dependency options.
    fn depends(&self, features: &str) -> Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let manifest = format!(
            "[package]\nname = \"proof\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             isobit = {{ version = \"{version}\", {features} }}\n\n[profile.release]\nstrip = true\n\n[workspace]\n"
        );
        write(&self.folder, "Cargo.toml", &manifest)
    }

    /// Builds the program as a user without clang would. Returns a line with the build time and the
    /// size of the program.
    fn build(&self, what: &str, args: &[&str]) -> Result<String> {
        let mut build = cargo();
        build.current_dir(&self.folder).args(["build", "--offline"]).args(args);
        build.env("ISOBIT_CLANG", "none").env("CARGO_TARGET_DIR", self.folder.join("target"));
        for variable in ["ISOBIT_CUDA_ARCHS", "ISOBIT_ROCM_ARCHS", "RUSTFLAGS", "RUSTC_WRAPPER"] {
            build.env_remove(variable);
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PROFILE_")) {
            build.env_remove(name);
        }
        let before = cpu_seconds()?;
        shell::run(&mut build)?;
        let cost = cpu_seconds()? - before;
        let profile = if args.is_empty() { "debug" } else { "release" };
        let size = std::fs::metadata(self.binary(profile))?.len();
        Ok(format!("{what}: {cost:.0} CPU-seconds, program size {:.1} MB", size as f64 / 1e6))
    }

    fn binary(&self, profile: &str) -> PathBuf {
        self.folder.join("target").join(profile).join("proof")
    }

    /// Runs the program on a simulated GPU of each vendor.
    fn runs(&self, profile: &str) -> Result<()> {
        let output = cargo()
            .args(["run", "--quiet", "--package", "isobit-simgpu-install"])
            .stderr(Stdio::inherit())
            .output()
            .context("cargo does not start")?;
        ensure!(output.status.success(), "the simulated GPUs cannot be built");
        let simulators = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        for (device, vendor) in [("cuda:0", "cuda"), ("rocm:0", "rocm")] {
            let vendor = simulators.join(vendor);
            let mut program = Command::new(self.binary(profile));
            program.arg(device).env("LD_LIBRARY_PATH", vendor.join("lib")).env("ROCM_PATH", &vendor);
            // Code compiled at run time would hide missing packed code.
            program.env("ISOBIT_COMPILE_CACHE", "").env("ISOBIT_CLANG", "none");
            shell::run(&mut program).with_context(|| format!("the program does not run on the simulated {device}"))?;
        }
        Ok(())
    }
}

/// Returns the CPU time of all child processes that this process waited for, including their
/// children.
fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("cannot read the CPU time from /proc")?;
    children(&stat).context("/proc/self/stat has an unexpected format")
}

/// Returns the sum of the 16th and 17th number of the line, which are in hundredths of a second.
/// The program's name is in parentheses and may contain any characters.
fn children(stat: &str) -> Option<f64> {
    let mut after_name = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut next = || after_name.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_read_whatever_a_program_is_called() {
        let stat = "42 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 150 250 20 0";
        assert_eq!(children(stat), Some(4.0));
        assert_eq!(children("42 (a"), None);
        assert!(cpu_seconds().unwrap() >= 0.0);
    }
}

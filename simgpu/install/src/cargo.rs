//! Runs cargo to build the libraries and reads their paths.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file with which cargo marks its target folders.
const MARK: &str = "CACHEDIR.TAG";

/// Returns the target folder of this program, so that builds share its artefacts.
pub fn target_dir() -> Result<PathBuf> {
    let program = std::env::current_exe().context("the path of this program")?;
    let built_in = program.ancestors().skip(1).find(|folder| folder.join(MARK).exists());
    match built_in {
        Some(folder) => Ok(folder.into()),
        // The program was copied elsewhere: use cargo's default.
        None => Ok(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)),
    }
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the package is in the workspace")
}

/// Built together with the libraries. Cargo unifies the features of packages that it builds
/// together; with the conformance program, those of shared dependencies are the same as in a build
/// of the workspace. Without it, a run of all tests compiled the simulators twice.
const TOGETHER: &str = "isobit-conformance";

/// Built together with every selection of packages, so that shared dependencies always have the
/// same features.
const FEATURES: &str = "isobit-features";

/// Builds packages and returns the shared library of each, by the package's name.
pub fn build(packages: impl Iterator<Item = &'static str>) -> Result<HashMap<String, PathBuf>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace()).args(["build", "--message-format", "json-render-diagnostics", "--target-dir"]);
    command.arg(target_dir()?).args(packages.chain([TOGETHER, FEATURES]).flat_map(|p| ["--package", p]));
    command.args(["--features", &["cli", "cuda", "rocm"].map(|f| format!("{TOGETHER}/{f}")).join(",")]);
    // Cargo's JSON messages are read from stdout; its stderr is passed through.
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("building the simulated GPU failed ({}): {}", output.status, words(&command));
    }
    let text = String::from_utf8(output.stdout).context("cargo's messages are not text")?;
    Ok(text.lines().filter_map(library).collect())
}

fn words(command: &Command) -> String {
    let args = command.get_args().map(|a| a.to_string_lossy());
    std::iter::once(command.get_program().to_string_lossy()).chain(args).collect::<Vec<_>>().join(" ")
}

/// Returns the package and the shared library in a message of cargo.
fn library(line: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let target = &message["target"];
    let shared = target["kind"].as_array()?.iter().any(|kind| kind == "cdylib");
    if message["reason"] != "compiler-artifact" || !shared {
        return None;
    }
    let file = message["filenames"].as_array()?.iter().filter_map(Value::as_str).find(|f| f.ends_with(".so"))?;
    // In every version of cargo the manifest names the package; the package id does not.
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some((package_of(message["package_id"].as_str()?, manifest)?, file.into()))
}

/// Returns the name of a package: the end of its id, or the folder if the id contains only that.
fn package_of(id: &str, manifest: &Path) -> Option<String> {
    let end = id.rsplit(['/', '#']).next()?;
    let name = end.split('@').next()?;
    let named = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    if named { Some(name.into()) } else { Some(manifest.parent()?.file_name()?.to_str()?.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_a_shared_library_tells_package_and_file() {
        let message = |kind: &str, id: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"{id}","manifest_path":"/w/sim/hip/Cargo.toml",
                    "target":{{"kind":["{kind}"],"name":"isobit_simgpu_hip"}},"filenames":["/t/debug/libisobit_simgpu_hip.so"]}}"#
            )
            .replace('\n', " ")
        };
        let named = "path+file:///w/sim/hip#isobit-simgpu-hip@0.1.0";
        let file = PathBuf::from("/t/debug/libisobit_simgpu_hip.so");
        assert_eq!(library(&message("cdylib", named)), Some(("isobit-simgpu-hip".into(), file.clone())));
        assert_eq!(library(&message("cdylib", "path+file:///w/sim/hip#0.1.0")), Some(("hip".into(), file)));
        assert_eq!(library(&message("lib", named)), None);
        assert_eq!(library(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn the_target_folder_is_the_one_this_test_was_built_in() {
        let target = target_dir().unwrap();
        assert!(target.join(MARK).exists(), "{}", target.display());
        assert!(std::env::current_exe().unwrap().starts_with(&target));
    }
}

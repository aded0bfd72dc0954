//! LLVM's tools, which the decoder is compared with.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// The environment variable that names `llvm-objdump`; the other tools are in the same folder.
const VARIABLE: &str = "ISOBIT_LLVM_OBJDUMP";
/// The newest card whose code is disassembled. An LLVM that supports it supports all of them.
const NEWEST: &str = "gfx942";

/// A suitable `llvm-objdump`, or a description of what was found instead.
static OBJDUMP: LazyLock<Result<PathBuf, String>> =
    LazyLock::new(|| find(std::env::var_os(VARIABLE).map(PathBuf::from), serves));

/// Returns the first suitable tool. If the variable is set, only the tool that it names is tried.
/// Otherwise these are tried: LLVM 19, from whose output the tables were generated, later versions,
/// and the name without a number, which may be any version.
fn find(named: Option<PathBuf>, serves: impl Fn(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let candidates = match named {
        Some(path) => vec![path],
        None => {
            let versions = (19..=30).map(|version| format!("llvm-objdump-{version}"));
            versions.chain(["llvm-objdump".to_owned()]).map(PathBuf::from).collect()
        }
    };
    let mut refused = Vec::new();
    for candidate in candidates {
        match serves(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(why) => refused.push(format!("{}: {why}", candidate.display())),
        }
    }
    Err(refused.join("\n"))
}

/// Whether a disassembler supports the cards, according to its `--mcpu=help`. Debian 12's own is
/// LLVM 14's, which does not.
fn serves(objdump: &Path) -> Result<(), String> {
    let version = output(objdump, &["--version"])?;
    let number = version.split("LLVM version ").nth(1).and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    match number {
        Some(19..) => {}
        Some(older) => return Err(format!("it is LLVM {older}, but the decoder is compared with LLVM 19 or newer")),
        None => return Err("it does not report its LLVM version".into()),
    }
    let beside = tool_of(objdump, "llvm-mc");
    let cards = output(&beside, &["--triple=amdgcn-amd-amdhsa", "--mcpu=help", "/dev/null"])?;
    if cards.lines().any(|line| line.split_whitespace().next() == Some(NEWEST)) {
        return Ok(());
    }
    Err(format!("{} does not list {NEWEST} among the cards that it knows", beside.display()))
}

/// Returns a tool's output.
fn output(tool: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(tool).args(args).output().map_err(|error| error.to_string())?;
    Ok([output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat())
}

/// Returns another tool of the same LLVM: in the same folder, with the same version suffix.
fn tool_of(objdump: &Path, tool: &str) -> PathBuf {
    let name = objdump.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    objdump.with_file_name(name.replacen("llvm-objdump", tool, 1))
}

/// Whether there is an LLVM to compare with. If not, a local run prints a message and continues
/// without it; with `CI` set it fails.
pub fn is_there() -> bool {
    let why = match &*OBJDUMP {
        Ok(_) => return true,
        Err(why) => why,
    };
    let what = format!(
        "no LLVM 19 or newer that supports AMD's cards, which the decoder is compared with: `apt-get install llvm-19` installs one, \
         {VARIABLE} names one.\n{why}"
    );
    assert!(std::env::var_os("CI").is_none(), "{what}");
    eprintln!("skipped: {what}");
    false
}

/// Runs an LLVM tool; requires that [`is_there`] is true.
pub fn run(tool: &str, args: &[&str]) -> Output {
    let objdump = OBJDUMP.as_deref().unwrap_or_else(|why| panic!("{why}"));
    let tool = tool_of(objdump, tool);
    Command::new(&tool).args(args).output().unwrap_or_else(|error| panic!("{} cannot be run: {error}", tool.display()))
}

#[test]
fn the_first_that_serves_is_taken() {
    let installed = |names: &'static [&'static str]| {
        move |path: &Path| {
            let found = names.iter().any(|name| Path::new(name) == path);
            if found { Ok(()) } else { Err("no".to_owned()) }
        }
    };
    let found = |named: Option<&str>, names| find(named.map(PathBuf::from), installed(names));
    assert_eq!(found(None, &["llvm-objdump-20", "llvm-objdump-19"]), Ok("llvm-objdump-19".into()));
    assert_eq!(found(None, &["llvm-objdump"]), Ok("llvm-objdump".into()));
    assert_eq!(
        found(Some("/opt/llvm-objdump"), &["/opt/llvm-objdump", "llvm-objdump-19"]),
        Ok("/opt/llvm-objdump".into())
    );
    assert_eq!(found(Some("/opt/gone"), &["llvm-objdump-19"]), Err("/opt/gone: no".into()));
    let refusals = found(None, &[]).expect_err("none serves");
    assert!(refusals.contains("llvm-objdump-19: no") && refusals.ends_with("llvm-objdump: no"), "{refusals}");
}

#[test]
fn tools_of_one_llvm_have_one_number() {
    assert_eq!(tool_of(Path::new("llvm-objdump-19"), "llvm-mc"), Path::new("llvm-mc-19"));
    assert_eq!(tool_of(Path::new("/opt/bin/llvm-objdump"), "llvm-mc"), Path::new("/opt/bin/llvm-mc"));
}

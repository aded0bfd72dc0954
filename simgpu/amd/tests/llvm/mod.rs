//! LLVM's tools, to which the decoder is held.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// Names the `llvm-objdump` that is taken; the other tools are beside it.
const VARIABLE: &str = "ISOBIT_LLVM_OBJDUMP";
/// The cards whose code is disassembled. An LLVM that knows the newest of them knows all.
const NEWEST: &str = "gfx942";

/// One `llvm-objdump` that serves, or what was found in place of it.
static OBJDUMP: LazyLock<Result<PathBuf, String>> =
    LazyLock::new(|| find(std::env::var_os(VARIABLE).map(PathBuf::from), serves));

/// The first that serves: what the variable names and nothing else where it is set, else LLVM 19,
/// by whose text the tables were made, the versions after it, and the one without a number, which
/// may be any.
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

/// Whether a disassembler knows the cards, which its `--mcpu=help` tells. Debian 12's own is LLVM
/// 14's, which does not.
fn serves(objdump: &Path) -> Result<(), String> {
    let version = output(objdump, &["--version"])?;
    let number = version.split("LLVM version ").nth(1).and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    match number {
        Some(19..) => {}
        Some(older) => return Err(format!("it is LLVM {older}, and the decoder is held to LLVM 19 or newer")),
        None => return Err("it does not say which LLVM it is of".into()),
    }
    let beside = tool_of(objdump, "llvm-mc");
    let cards = output(&beside, &["--triple=amdgcn-amd-amdhsa", "--mcpu=help", "/dev/null"])?;
    if cards.lines().any(|line| line.split_whitespace().next() == Some(NEWEST)) {
        return Ok(());
    }
    Err(format!("{} does not list {NEWEST} among the cards it knows", beside.display()))
}

/// What a tool writes.
fn output(tool: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(tool).args(args).output().map_err(|error| error.to_string())?;
    Ok([output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat())
}

/// Another tool of the same LLVM: in the same folder, with the same number.
fn tool_of(objdump: &Path, tool: &str) -> PathBuf {
    let name = objdump.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    objdump.with_file_name(name.replacen("llvm-objdump", tool, 1))
}

/// True where there is an LLVM to hold the decoder to. Where there is none, a developer's run says
/// so and goes on without; with `CI` set it fails.
pub fn is_there() -> bool {
    let why = match &*OBJDUMP {
        Ok(_) => return true,
        Err(why) => why,
    };
    let what = format!(
        "no LLVM 19 or newer that knows AMD's cards, to which the decoder is held: `apt-get install llvm-19` installs one, \
         {VARIABLE} names one.\n{why}"
    );
    assert!(std::env::var_os("CI").is_none(), "{what}");
    eprintln!("skipped: {what}");
    false
}

/// Runs a tool of LLVM, where one [`is_there`].
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

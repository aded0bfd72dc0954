//! Checks whether programs are usable, not by their names but by their versions, their targets, and
//! test compilations.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The oldest usable LLVM version, and the version that is installed if there is none.
pub const LLVM: u32 = 19;

/// The newest version that is searched for.
const NEWEST: u32 = 30;

/// A usable program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name or path.
    pub program: String,
    /// The version that it prints.
    pub version: String,
}

/// A usable program, or the reason why there is none: none was found, or those found are not
/// usable.
pub type Asked = Result<Tool, String>;

/// Returns the names of an LLVM program, the newest version first and the name without a version
/// last.
fn names(program: &'static str) -> impl Iterator<Item = String> {
    (LLVM..=NEWEST).rev().map(move |v| format!("{program}-{v}")).chain([program.to_string()])
}

/// Returns the first usable program, or else what is wrong with each program that exists.
fn first(names: impl Iterator<Item = String>, serves: impl Fn(&str) -> Option<Asked>) -> Asked {
    let mut unfit = Vec::new();
    for name in names {
        match serves(&name) {
            Some(Ok(tool)) => return Ok(tool),
            Some(Err(why)) => unfit.push(why),
            None => {}
        }
    }
    Err(if unfit.is_empty() { "missing".into() } else { unfit.join("; ") })
}

/// Checks the version of a program. Returns `None` if the program does not exist.
fn of_version(name: &str, arg: &str) -> Option<Asked> {
    let output = Command::new(name).arg(arg).stdin(Stdio::null()).output().ok().filter(|o| o.status.success())?;
    Some(recent(name, &String::from_utf8_lossy(&output.stdout)))
}

fn recent(name: &str, said: &str) -> Asked {
    match (version_line(said), major(said)) {
        (Some(line), Some(major)) if major >= LLVM => Ok(Tool { program: name.into(), version: line.into() }),
        (Some(line), Some(_)) => Err(format!("{name} is {line}, but {LLVM} or newer is needed")),
        _ => Err(format!("{name} prints no version")),
    }
}

/// Returns the line with the version.
fn version_line(said: &str) -> Option<&str> {
    said.lines().map(str::trim).find(|line| line.contains("version ") || line.contains("LLD "))
}

/// Returns the first number of a version such as `Debian clang version 19.1.7 (3)`, `LLVM version
/// 14.0.6` or `Debian LLD 19.1.7`.
fn major(said: &str) -> Option<u32> {
    let line = version_line(said)?;
    let after = line.split_once("version ").or_else(|| line.split_once("LLD "))?.1;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Returns a clang that compiles for both vendors' GPUs: the one that `ISOBIT_CLANG` names, or the
/// newest.
pub fn clang() -> Asked {
    let named = std::env::var("ISOBIT_CLANG").ok();
    if named.as_deref() == Some("none") {
        return Err("ISOBIT_CLANG is `none`".into());
    }
    let candidates: Vec<String> = named.map_or_else(|| names("clang").collect(), |name| vec![name]);
    first(candidates.into_iter(), |name| {
        Some(of_version(name, "--version")?.and_then(|tool| {
            for (vendor, flags) in [("NVIDIA", NVIDIA), ("AMD", AMD)] {
                let compiled = compile(name, &[flags, &["-S", "-o", "-"]].concat());
                compiled.map_err(|why| format!("{name} does not compile for {vendor} GPUs: {why}"))?;
            }
            Ok(tool)
        }))
    })
}

/// Returns the clang that the build script chooses by itself: the first that is new enough, without
/// a test compilation.
pub fn clang_of_a_build() -> Option<String> {
    names("clang").find(|name| matches!(of_version(name, "--version"), Some(Ok(_))))
}

/// Returns the linker that a clang uses, which must link for AMD GPUs. clang prefers the linker of
/// its own version.
pub fn lld(clang: &str) -> Asked {
    let place = std::env::temp_dir().join(format!("isobit-link-{}", std::process::id()));
    let file = place.to_string_lossy().into_owned();
    let linked = compile(clang, &[AMD, &["-fuse-ld=lld", "-o", &file]].concat());
    let _ = std::fs::remove_file(&place);
    let linker = Command::new(clang).arg("-print-prog-name=ld.lld").output();
    let linker = linker.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string()).unwrap_or_default();
    let found = of_version(&linker, "--version");
    match (linked, found) {
        (Ok(()), Some(Ok(tool))) => Ok(tool),
        // It linked successfully; the version is only for display.
        (Ok(()), _) => Ok(Tool { program: linker, version: "which links AMD code objects".into() }),
        (Err(_), None) => Err("missing".into()),
        (Err(_), Some(Err(why))) => Err(why),
        (Err(why), Some(Ok(tool))) => Err(format!("{} does not link for AMD GPUs: {why}", tool.program)),
    }
}

const NVIDIA: &[&str] =
    &["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_80", "--cuda-feature=+ptx78"];
const AMD: &[&str] = &[
    "-x",
    "hip",
    "--offload-device-only",
    "--no-gpu-bundle-output",
    "-nogpuinc",
    "-nogpulib",
    "--offload-arch=gfx90a",
];

/// Compiles one kernel from stdin. Returns the first error message if that fails.
fn compile(clang: &str, args: &[&str]) -> Result<(), String> {
    let start = || {
        let mut command = Command::new(clang);
        command.args(args).arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // Ignored: a compiler that does not read its input reports the reason itself.
        let _ = child
            .stdin
            .take()
            .expect("it is piped")
            .write_all(b"__attribute__((global)) void set(int *p) { *p = 1; }\n");
        child.wait_with_output()
    };
    let output: Output = start().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let complaint = said.lines().find(|line| line.contains("error")).or_else(|| said.lines().next());
    Err(complaint.unwrap_or("it failed without a message").trim().to_string())
}

/// Returns LLVM's disassembler with the AMD target, with which the decoder of the simulated AMD GPU
/// is compared: the one that `ISOBIT_LLVM_OBJDUMP` names, or the newest.
pub fn objdump() -> Asked {
    let named = std::env::var(super::OBJDUMP_VARIABLE).ok();
    let candidates: Vec<String> = named.map_or_else(|| names("llvm-objdump").collect(), |name| vec![name]);
    first(candidates.into_iter(), |name| {
        let output = Command::new(name).arg("--version").output().ok().filter(|o| o.status.success())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Some(recent(name, &said).and_then(|tool| {
            let knows = registered(&said).any(|target| target == "amdgcn");
            if knows { Ok(tool) } else { Err(format!("{name} does not support AMD GPUs (no target amdgcn)")) }
        }))
    })
}

/// Returns the targets that `--version` of an LLVM program lists.
fn registered(said: &str) -> impl Iterator<Item = &str> {
    let targets = said.lines().skip_while(|line| !line.contains("Registered Targets")).skip(1);
    targets.filter_map(|line| line.split(" - ").next().map(str::trim))
}

/// Returns the library that reads headers, from LLVM's folders or `LIBCLANG_PATH`.
pub fn libclang() -> Asked {
    if let Some(named) = std::env::var_os("LIBCLANG_PATH") {
        return Ok(Tool { program: named.to_string_lossy().into_owned(), version: "named by LIBCLANG_PATH".into() });
    }
    let folders = (LLVM..=NEWEST).rev().map(|v| format!("/usr/lib/llvm-{v}/lib"));
    let common = ["/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu"].map(String::from);
    let library = |folder: String| {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files
            .map(|file| file.path())
            .find(|path| path.file_name().is_some_and(|name| is_libclang(&name.to_string_lossy())))
    };
    let found: Option<PathBuf> = folders.chain(common).find_map(library);
    let tool = |path: PathBuf| Tool { program: path.display().to_string(), version: "reads headers".into() };
    found.map(tool).ok_or_else(|| "missing".into())
}

fn is_libclang(name: &str) -> bool {
    name.starts_with("libclang") && !name.starts_with("libclang-cpp") && name.contains(".so")
}

/// Returns a Python with pip, which downloads packages from PyPI.
pub fn pip() -> Asked {
    let Some(python) = crate::shell::version("python3", "--version") else { return Err("python3 is missing".into()) };
    let pip = Command::new("python3").args(["-m", "pip", "--version"]).output().ok().filter(|o| o.status.success());
    let Some(pip) = pip else { return Err(format!("{python} has no pip")) };
    let words = String::from_utf8_lossy(&pip.stdout).split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    Ok(Tool { program: "python3".into(), version: format!("{python} with {words}") })
}

/// Returns Valgrind.
pub fn valgrind() -> Asked {
    let version = crate::shell::version("valgrind", "--version");
    version.map(|version| Tool { program: "valgrind".into(), version }).ok_or_else(|| "missing".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_say() {
        for (said, expected) in [
            ("Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64-pc-linux-gnu", Some(19)),
            ("Ubuntu clang version 20.1.2 (0ubuntu1)\n", Some(20)),
            ("clang version 18.1.8\n", Some(18)),
            ("AMD clang version 19.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-6.4.0)", Some(19)),
            ("Debian LLD 19.1.7 (compatible with GNU linkers)", Some(19)),
            ("LLD 21.1.0 (compatible with GNU linkers)", Some(21)),
            ("Debian LLVM version 14.0.6\n  Optimized build.", Some(14)),
            ("llvm-objdump-19, compatible with GNU objdump\nDebian LLVM version 19.1.7\n", Some(19)),
            ("GNU objdump (GNU Binutils for Debian) 2.40", None),
            ("", None),
        ] {
            assert_eq!(major(said), expected, "{said}");
        }
    }

    #[test]
    fn an_old_program_is_told_with_its_version() {
        let old = recent("llvm-objdump", "Debian LLVM version 14.0.6\n").unwrap_err();
        assert!(old.contains("llvm-objdump is Debian LLVM version 14.0.6") && old.contains("19 or newer"), "{old}");
        assert!(recent("clang", "clang version 19.1.0").is_ok());
    }

    #[test]
    fn the_newest_is_asked_first_and_the_plain_name_last() {
        let asked: Vec<String> = names("clang").collect();
        assert_eq!((asked[0].as_str(), asked[1].as_str()), ("clang-30", "clang-29"));
        assert_eq!(asked[asked.len() - 2..], ["clang-19", "clang"]);
        let tool = |name: &str| Tool { program: name.into(), version: "19".into() };
        let found = first(names("clang"), |name| (name == "clang-20").then(|| Ok(tool(name))));
        assert_eq!(found, Ok(tool("clang-20")));
        let unfit = first(names("clang"), |name| (name == "clang").then(|| Err("clang is too old".into())));
        assert_eq!(unfit, Err("clang is too old".into()));
        assert_eq!(first(names("clang"), |_| None), Err("missing".into()));
    }

    #[test]
    fn targets_are_read_from_the_list() {
        let said = "Debian LLVM version 19.1.7\n\n  Registered Targets:\n    aarch64    - AArch64 (little endian)\n    \
                    amdgcn     - AMD GCN GPUs\n    x86-64     - 64-bit X86: EM64T and AMD64\n";
        assert_eq!(registered(said).collect::<Vec<_>>(), ["aarch64", "amdgcn", "x86-64"]);
        assert_eq!(registered("LLVM version 19").count(), 0);
    }

    #[test]
    fn a_program_that_is_not_there_is_missing_and_one_that_does_not_compile_says_why() {
        assert_eq!(of_version("isobit-no-such-program", "--version"), None);
        assert!(compile("isobit-no-such-program", &[]).is_err());
        assert_eq!(compile("false", &[]), Err("it failed without a message".into()));
    }

    #[test]
    fn libclang_is_told_from_its_sibling() {
        assert!(is_libclang("libclang-19.so.19") && is_libclang("libclang.so.1"));
        assert!(!is_libclang("libclang-cpp.so.19") && !is_libclang("libclangAST.a"));
    }
}

//! `isobit-sim` with a program of another language: what it passes on, prints and returns.

use isobit_simgpu_core::finding::report::Report;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program.py");

/// A folder for files, with the simulated libraries as they are installed.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Cargo builds the libraries with this test, because it depends on their packages.
        let built = std::env::current_exe().unwrap();
        for (name, library) in [
            ("cuda/lib/libcuda.so.1", "libisobit_simgpu_cuda.so"),
            ("rocm/lib/libamdhip64.so", "libisobit_simgpu_hip.so"),
        ] {
            let (at, library) = (folder.path().join(name), built.with_file_name(library));
            assert!(library.exists(), "{}", library.display());
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(library, at).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        self.start(env!("CARGO_BIN_EXE_isobit-sim"), args)
    }

    fn start(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.0.path()).env("ISOBIT_SIMGPU", self.0.path());
        // The variables that the options set, which the user's environment may have.
        for name in ["CUDA", "ROCM", "FAULT", "FINDINGS", "REPORT", "SUPPRESSIONS"] {
            command.env_remove(format!("ISOBIT_SIM_{name}"));
        }
        command.env("ISOBIT_SIM_MEMORY", "1073741824");
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        Said::of(&self.command(args).output().unwrap())
    }

    /// Runs the program in Python.
    fn python(&self, options: &[&str], actions: &[&str]) -> Said {
        self.run(&[&["run"], options, &["--", "python3", PROGRAM], actions].concat())
    }
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    #[track_caller]
    fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn tells(&self, words: &[&str]) {
        assert!(words.iter().all(|words| self.err.contains(words)), "{words:?} in\n{}", self.err);
    }
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "there is no python3");
    if !found {
        eprintln!("skipped: there is no python3; `apt-get install python3` installs it");
    }
    found
}

#[test]
fn findings_become_the_exit_code() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let clean = folder.python(&[], &[]).ends_with(0);
    assert_eq!((clean.out.as_str(), clean.err.as_str()), ("rocm 1\ncuda 1 8\n", ""));
    let race = folder.python(&[], &["race"]).ends_with(86);
    assert!(race.out.ends_with("status 0\n"), "a card does not show a race: {}", race.out);
    let lines: Vec<&str> = race.err.lines().collect();
    assert!(lines[0].starts_with("isobit-sim: race: race: "), "{}", race.err);
    let table = ["isobit-sim: 1 finding: 1 x race", "     count  kind  kernel", "         1  race  race"];
    assert_eq!(lines[1..], table, "one summary, and none of the program itself");
    folder.python(&["--exit-code", "9"], &["race"]).ends_with(9);
    folder.python(&[], &["race", "3"]).ends_with(3);
    let wild = folder.python(&[], &["wild"]).ends_with(86);
    assert!(wild.out.ends_with("status 700\n"), "{}", wild.out);
    wild.tells(&["simulated GPU: the launch of poke failed", "isobit-sim: 1 finding: 1 x out of bounds"]);
    let recorded = folder.python(&["--findings", "record"], &["wild"]).ends_with(86);
    assert!(recorded.out.ends_with("status 0\n"), "{}", recorded.out);
    // 128 and the number of SIGABRT.
    folder.python(&["--findings", "abort"], &["race"]).ends_with(134).tells(&["isobit-sim: 1 finding: 1 x race"]);
}

#[test]
fn a_call_fails_on_request() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let fails =
        folder.python(&["--gpu", "sm_80", "--fault", "cuMemAlloc_v2:1:CUDA_ERROR_OUT_OF_MEMORY"], &[]).ends_with(1);
    fails.tells(&["a call failed with 2"]);
    let lost = folder.python(&["--gpu", "sm_80", "--fault", "cuLaunchKernel:1:lost"], &["race"]).ends_with(1);
    lost.tells(&["a call failed with 719"]);
    let absent = folder.python(&["--gpu", "sm_80", "--fault", "cuMemAlloc_v2:*:absent"], &[]).ends_with(1);
    absent.tells(&["undefined symbol: cuMemAlloc_v2"]);
    let amd = folder.python(&["--gpu", "gfx90a", "--fault", "hipGetDeviceCount:1:hipErrorNoDevice"], &[]).ends_with(1);
    amd.tells(&["a call failed with 100"]);
    let later = folder.python(&["--gpu", "sm_80", "--fault", "cuMemAlloc_v2:2:2"], &[]).ends_with(0);
    assert_eq!(later.out, "cuda 1 8\n", "there is no second call");
    let wrong = folder.python(&["--gpu", "sm_80", "--fault", "cuMemAlloc:1:2"], &[]).ends_with(1);
    wrong.tells(&["ISOBIT_SIM_FAULT", "did you mean cuMemAlloc_v2?", "a call failed with 1"]);
}

#[test]
fn the_program_gets_the_cards_of_the_command_line() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let mixed = folder.python(&["--gpu", "sm_90,gfx942", "--gpu", "sm_75", "--count", "2"], &[]).ends_with(0);
    assert_eq!(mixed.out, "rocm 2\ncuda 4 9 9 7 7\n");
    let amd = folder.python(&["--gpu", "gfx1100"], &[]).ends_with(0);
    assert_eq!(amd.out, "rocm 1\n", "only the libraries of that vendor are found");
    let unknown = folder.python(&["--gpu", "sm_91"], &[]).ends_with(2);
    unknown.tells(&["there is no simulated GPU \"sm_91\"", "sm_75, sm_80, sm_90, gfx90a, gfx942, gfx1100"]);
    let known = folder.run(&["gpus"]).ends_with(0);
    assert_eq!(known.out.lines().count(), 6, "{}", known.out);
    assert!(known.out.starts_with("sm_75    NVIDIA\nsm_80    NVIDIA (default)\n"), "{}", known.out);
}

#[test]
fn the_findings_of_all_processes_are_in_the_reports() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let (json, sarif) = (folder.path("all.json"), folder.path("all.sarif"));
    let script = format!("python3 {PROGRAM} race; python3 {PROGRAM} race wild; exit 0");
    let files = ["--report", json.to_str().unwrap(), "--report", sarif.to_str().unwrap()];
    let both = folder.run(&[&["run"], &files[..], &["sh", "-c", &script]].concat()).ends_with(86);
    both.tells(&["3 findings: 1 x out of bounds, 2 x race", "the findings are in", "all.sarif"]);
    assert!(!both.err.contains("isobit-sim: race: race"), "they are in the files only: {}", both.err);
    let read = |path: &Path| std::fs::read(path).unwrap();
    let report: Report = serde_json::from_slice(&read(&json)).unwrap();
    assert_eq!((report.findings.len(), report.counts.total(), report.program.as_str()), (3, 3, "sh"));
    let log: serde_json::Value = serde_json::from_slice(&read(&sarif)).unwrap();
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 3);
}

#[test]
fn without_the_option_the_variable_names_the_report() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let run = |name: &str, program: &[&str]| {
        let mut command = folder.command(&[&["run", "--"], program].concat());
        let child = command.env("ISOBIT_SIM_REPORT", name).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.unwrap();
        (child.id(), Said::of(&child.wait_with_output().unwrap()))
    };
    let race = ["python3", PROGRAM, "race"];
    let (process, said) = run("%v-%p.txt", &race);
    let name = format!("all-{process}.txt");
    said.ends_with(86).tells(&["the findings are in", &name]);
    assert!(std::fs::read_to_string(folder.path(&name)).unwrap().starts_with("race: race: "));
    run(" ", &race).1.ends_with(86).tells(&["isobit-sim: race: race: "]);
    let (_, said) = run("found.xml", &["sh", "-c", "echo begun"]);
    assert_eq!(said.out, "", "the name is wrong before the program starts");
    said.ends_with(125).tells(&["found.xml", ".sarif"]);
}

#[test]
fn a_report_that_cannot_be_written_loses_nothing() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let (nowhere, there) = (["--report", "no folder/all.json"], ["--report", "all.txt"]);
    let found = ["isobit-sim: race: race: ", "1 finding: 1 x race", "cannot be written to no folder/all.json: No such"];
    folder.python(&nowhere, &["race"]).ends_with(86).tells(&found);
    folder.python(&nowhere, &["race", "3"]).ends_with(3).tells(&found);
    folder.python(&nowhere, &[]).ends_with(125).tells(&found[2..]);
    let one = folder.python(&[nowhere, there].concat(), &["race"]).ends_with(86);
    assert!(!one.err.contains(found[0]) && !one.err.contains("findings are in no folder"), "{}", one.err);
    one.tells(&["the findings are in all.txt", found[1], found[2]]);
    assert!(std::fs::read_to_string(folder.path("all.txt")).unwrap().starts_with("race: race: "));
}

#[test]
fn suppressed_findings_leave_the_exit_code() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    std::fs::write(folder.path("known.txt"), "race:race\nrace:never\n").unwrap();
    let said = folder.python(&["--suppressions", "known.txt", "--unused-suppressions"], &["race"]).ends_with(0);
    said.tells(&["suppressed 1 by line 1: race:race", "unused suppression in line 2: race:never"]);
    folder.python(&["--suppressions", "unknown.txt"], &[]).ends_with(125).tells(&["unknown.txt"]);
}

#[test]
fn the_exit_codes_are_those_of_shells() {
    let folder = Folder::new();
    let shell = |script: &str| folder.run(&["run", "--", "sh", "-c", script]);
    let said = shell("echo out; echo err >&2; exit 3").ends_with(3);
    assert_eq!(
        (said.out.as_str(), said.err.as_str()),
        ("out\n", "err\nisobit-sim: the program used no simulated GPU\n")
    );
    shell("kill -TERM $$").ends_with(143);
    shell("kill -KILL $$").ends_with(137);
    folder.run(&["run", "/no such program"]).ends_with(127).tells(&["/no such program", "there is no such program"]);
    std::fs::write(folder.path("text"), "").unwrap();
    folder.run(&["run", "./text"]).ends_with(126).tells(&["./text cannot be started"]);
    folder.run(&["run", "--report", "a.xml", "sh"]).ends_with(2).tells(&[".sarif"]);
    folder.run(&["run"]).ends_with(2);
    let mut elsewhere = folder.command(&["run", "sh"]);
    let said = Said::of(&elsewhere.env("ISOBIT_SIMGPU", "/nowhere").output().unwrap()).ends_with(125);
    said.tells(&["/nowhere", "cargo run -p isobit-simgpu-install"]);
}

#[test]
fn signals_reach_the_program() {
    let folder = Folder::new();
    let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = folder.command(&["run", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    // SAFETY: the process is not yet waited for, so its number is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

/// As `nohup` starts it.
#[test]
fn ignored_signals_stay_ignored() {
    let folder = Folder::new();
    for signal in ["HUP", "INT", "USR1"] {
        let program = format!("kill -{signal} $$; kill -{signal} $PPID; exit 7");
        let script = format!("trap '' {signal}; exec \"$0\" run -- sh -c '{program}'");
        let runner = env!("CARGO_BIN_EXE_isobit-sim");
        Said::of(&folder.start("sh", &["-c", &script, runner]).output().unwrap()).ends_with(7);
    }
}

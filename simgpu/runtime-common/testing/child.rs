//! Runs a test in a process of its own: its variables, its output and its end belong to the test
//! alone, and a simulator that never returns is noticed.

use std::ffi::{CString, OsStr, c_char, c_int};
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Names the test that a process runs for its parent.
const VARIABLE: &str = "ISOBIT_TEST_CHILD";

/// The variables that tests set, which the user's environment may have.
const TESTED: [&str; 4] = ["ISOBIT_SIM_FAULT", "ISOBIT_SIM_FINDINGS", "ISOBIT_SIM_REPORT", "ISOBIT_SIM_SUPPRESSIONS"];

/// Two cards of each vendor, and not much memory.
const SIMULATED: [(&str, &str); 3] =
    [("ISOBIT_SIM_CUDA", "sm_80,sm_90"), ("ISOBIT_SIM_ROCM", "gfx90a,gfx90a"), ("ISOBIT_SIM_MEMORY", "1073741824")];

const SIGABRT: i32 = 6;

/// A time that no machine needs for a test.
const LIMIT: Duration = Duration::from_secs(120);

/// How a process ended, and what it printed.
#[derive(Debug)]
pub struct Said {
    pub status: ExitStatus,
    pub out: String,
    pub error: String,
}

impl Said {
    /// Asserts that the process succeeded.
    #[track_caller]
    pub fn passes(self) -> Self {
        assert!(self.status.success(), "{}\n{}\n{}", self.status, self.out, self.error);
        self
    }

    /// Asserts that the process aborted.
    #[track_caller]
    pub fn aborts(self) -> Self {
        assert_eq!(self.status.signal(), Some(SIGABRT), "{}\n{}\n{}", self.status, self.out, self.error);
        self
    }
}

/// Whether this is the process that runs the test for its parent.
pub fn inside(test: &str) -> bool {
    std::env::var(VARIABLE).is_ok_and(|child| child == test)
}

/// Runs a test of this program in a second process with these variables.
#[track_caller]
pub fn run(test: &str, variables: &[(&str, &str)]) -> Said {
    let mut command = command(std::env::current_exe().expect("this program has a path"));
    command.args([test, "--exact", "--nocapture"]).env(VARIABLE, test).envs(variables.iter().copied());
    finish(&mut command).expect("this program starts again")
}

/// Returns the command of a program with the cards that tests use.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    TESTED.iter().for_each(|name| _ = command.env_remove(name));
    command.envs(SIMULATED);
    command
}

/// Runs a command to its end. Fails if the program cannot be started.
#[track_caller]
pub fn finish(command: &mut Command) -> io::Result<Said> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let out = reader(child.stdout.take().expect("a pipe"));
    let error = reader(child.stderr.take().expect("a pipe"));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > LIMIT {
            child.kill()?;
            let [out, error] = [out, error].map(|reader| reader.join().expect("no panic"));
            panic!("{command:?} does not end\n{out}\n{error}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let [out, error] = [out, error].map(|reader| reader.join().expect("no panic"));
    Ok(Said { status, out, error })
}

/// Reads a pipe on a thread, so that the process can always write.
fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        String::from_utf8(bytes).expect("letters")
    })
}

/// Runs a test in a process of its own, which must succeed.
#[track_caller]
pub fn in_child(test: &str, body: impl FnOnce()) {
    if inside(test) {
        return body();
    }
    run(test, &[]).passes();
}

unsafe extern "C" {
    fn printf(format: *const c_char, ...) -> c_int;
}

/// Prints a line as a C program does: it stays in the C library's buffer.
pub fn say(line: &str) {
    let line = CString::new(line).expect("no NUL");
    // SAFETY: the format takes one string.
    unsafe { printf(c"%s\n".as_ptr(), line.as_ptr()) };
}

/// In the first process: runs the test in a second one and returns what it printed, the standard
/// output from the first line of `body` on. In the second process: runs `body` and exits.
#[track_caller]
pub fn output_of(test: &str, body: impl FnOnce()) -> Said {
    if inside(test) {
        say("begin");
        body();
        std::process::exit(0);
    }
    let mut said = run(test, &[]);
    let Some((_, out)) = said.out.split_once("begin\n") else { panic!("{said:?}") };
    said.out = out.to_owned();
    said
}

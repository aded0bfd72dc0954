//! `cargo xtask bare`: runs both commands of the README on a system with only Rust, a C linker and
//! a fresh clone.

mod host;
mod root;

use crate::setup;
use crate::shell::target_dir;
use crate::steps::{self, Steps};
use anyhow::{Context, Result, bail};
use root::Root;
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

/// The options of the task.
#[derive(Debug, Default)]
pub struct Options {
    /// Tasks of xtask to run; if empty, both of the README.
    pub only: Vec<String>,
    /// A command to run instead.
    pub command: Vec<String>,
    /// Additional Debian packages.
    pub with: Vec<String>,
    /// The folder of the root.
    pub root: Option<PathBuf>,
    /// Whether to keep the root.
    pub keep: bool,
    /// Whether to run as an ordinary user.
    pub user: bool,
    /// Whether to run without network.
    pub no_network: bool,
}

impl Options {
    /// Returns the commands to run, one after the other until one fails.
    fn commands(&self) -> Vec<Vec<String>> {
        if !self.command.is_empty() {
            return vec![self.command.clone()];
        }
        let both = ["conformance".to_string(), "test".to_string()];
        let tasks = if self.only.is_empty() { &both[..] } else { &self.only };
        tasks.iter().map(|task| vec!["cargo".into(), "xtask".into(), task.clone()]).collect()
    }
}

/// Makes the root and runs the commands in it. Returns the exit code of the first command that
/// fails.
pub fn run(options: &Options) -> Result<ExitCode> {
    if !setup::is_root() {
        bail!("making a bare root requires root: `sudo -E env PATH=\"$PATH\" cargo xtask bare`");
    }
    let folder = target_dir().join("bare");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let log = Log::new(&folder)?;
    let place = options.root.clone().unwrap_or_else(|| folder.join("root"));
    let root = Root::new(place, options.user, !options.no_network)?;
    let result = in_root(options, &root, &log);
    log.say(&match options.keep {
        true => "the root is kept".into(),
        false => root
            .remove()
            .map_or_else(|e| format!("the root could not be removed: {e:#}"), |()| "the root is removed".into()),
    });
    log.say(&format!("the log is {}", log.path.display()));
    result
}

fn in_root(options: &Options, root: &Root, log: &Log) -> Result<ExitCode> {
    let mut steps = Steps::default();
    let mut step = |name: &str, work: &dyn Fn() -> Result<u8>| {
        let began = Instant::now();
        let result = steps.run(name, work);
        let end = match &result {
            Ok(0) => String::new(),
            Ok(code) => format!(", exit status {code}"),
            Err(e) => format!(", {e:#}"),
        };
        log.keep(&format!("== {name}: {}{end}\n", steps::text(began.elapsed())));
        result
    };
    let done = |result: Result<()>| result.map(|()| 0);
    step("Debian", &|| done(root.install_debian(&options.with)))?;
    step("Rust", &|| done(root.install_rust()))?;
    step("clone", &|| done(root.clone_head()))?;
    for words in options.commands() {
        let code = step(&name(&words), &|| log.run(&mut root.command(&words)))?;
        if code != 0 {
            return Ok(code.into());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a command as the table of steps shows it.
fn name(words: &[String]) -> String {
    let all = words.join(" ");
    let short: String = all.chars().take(40).collect();
    if short.len() < all.len() { format!("{short}…") } else { short }
}

/// Prints messages and also writes them to a file.
struct Log {
    path: PathBuf,
    file: Mutex<File>,
}

impl Log {
    fn new(folder: &std::path::Path) -> Result<Self> {
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let path = folder.join(format!("bare-{seconds}.log"));
        let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path, file: Mutex::new(file) })
    }

    fn keep(&self, text: &str) {
        // Ignored: the text was also printed.
        let _ = self.file.lock().expect("nothing panics here").write_all(text.as_bytes());
    }

    fn say(&self, line: &str) {
        eprintln!("{line}");
        self.keep(&format!("{line}\n"));
    }

    /// Runs a command to its end, prints and logs its output, and returns its exit code.
    fn run(&self, command: &mut Command) -> Result<u8> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("`unshare` of util-linux does not start")?;
        let (out, err) = (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
        std::thread::scope(|scope| {
            scope.spawn(|| self.copy(out, std::io::stdout()));
            scope.spawn(|| self.copy(err, std::io::stderr()));
        });
        let status = child.wait().context("the command in the root")?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    fn copy(&self, mut from: impl Read, mut to: impl Write) {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut chunk) {
            // A closed terminal or a full disk does not stop the command.
            let _ = to.write_all(&chunk[..count]).and_then(|()| to.flush());
            let _ = self.file.lock().expect("nothing panics here").write_all(&chunk[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_commands_run_unless_others_are_named() {
        let words = |options: Options| options.commands().into_iter().map(|c| c.join(" ")).collect::<Vec<_>>();
        assert_eq!(words(Options::default()), ["cargo xtask conformance", "cargo xtask test"]);
        assert_eq!(words(Options { only: vec!["test".into()], ..Options::default() }), ["cargo xtask test"]);
        let own = vec!["cargo".to_string(), "--version".into()];
        assert_eq!(words(Options { command: own, ..Options::default() }), ["cargo --version"]);
    }

    #[test]
    fn a_command_is_printed_kept_and_its_exit_code_told() {
        let folder = std::env::temp_dir().join(format!("isobit-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let log = Log::new(&folder).unwrap();
        assert_eq!(log.run(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"])).unwrap(), 3);
        let kept = std::fs::read_to_string(&log.path).unwrap();
        assert!(kept.contains("out\n") && kept.contains("err\n"), "{kept}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

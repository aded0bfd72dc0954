//! The processes of a device: the simulated libraries read their variables once, and a lost device
//! or an absent function is that for the whole process.

use crate::card::Card;
use crate::row::Row;
use crate::{PHASES, TEST};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Card and phase of a process.
const ASKED: &str = "ISOBIT_TEST_CHILD";

/// Returns the card and the phase of this process, if a test started it.
pub fn asked() -> Option<(&'static Card, String)> {
    let asked = std::env::var(ASKED).ok()?;
    let (id, phase) = asked.rsplit_once('/')?;
    let card = Card::ALL.iter().find(|card| card.id == id).expect("a card of this test");
    Some((card, phase.to_owned()))
}

/// How a process ended.
pub struct Ended {
    pub said: String,
    pub success: bool,
    pub rows: Vec<Row>,
}

impl Ended {
    pub fn of(output: Output) -> Self {
        let success = output.status.success();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        let rows = said.lines().filter_map(Row::heard).collect();
        Self { said, success, rows }
    }

    /// Asserts that the process succeeded and that the simulator found nothing, and returns its
    /// rows.
    #[track_caller]
    pub fn passes(self) -> Vec<Row> {
        assert!(self.success && self.said.contains("1 passed"), "{}", self.said);
        assert!(!self.said.contains("panicked"), "{}", self.said);
        let found = self.said.lines().find(|line| line.starts_with("simulated GPU:") && line.contains("finding"));
        assert_eq!(found, None, "{}", self.said);
        self.rows
    }
}

/// Runs a phase in a process of its own.
pub fn run(card: &'static Card, phase: &str, variables: &[(&str, &str)]) -> Ended {
    Ended::of(command(card, phase, &card.installation(), variables).output().expect("this program starts again"))
}

/// Returns the command of a phase with the vendor's libraries in a folder.
pub fn command(card: &'static Card, phase: &str, installation: &Path, variables: &[(&str, &str)]) -> Command {
    assert!(PHASES.iter().any(|known| known.name == phase), "{phase}");
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([TEST, "--exact", "--nocapture"]).env(ASKED, format!("{}/{phase}", card.id));
    environment(&mut command, card, installation);
    command.envs(variables.iter().copied()).env("RUST_BACKTRACE", "0");
    command
}

/// Makes a command use the libraries of a folder.
pub fn environment(command: &mut Command, card: &Card, installation: &Path) {
    for name in ["ISOBIT_SIM_FAULT", "ISOBIT_SIM_DEFER", "ISOBIT_SIM_REPORT", "ISOBIT_POOL", "ISOBIT_HIP_LIBRARY"] {
        command.env_remove(name);
    }
    let nvrtc = std::env::var_os("ISOBIT_NVRTC").map(PathBuf::from);
    let compiler = nvrtc.and_then(|file| Some(file.parent()?.to_path_buf()));
    let folders = [Some(installation.join("lib")), compiler].into_iter().flatten();
    let more = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&more))).expect("folders without colons");
    command.env("LD_LIBRARY_PATH", path).env("ROCM_PATH", installation);
    command.env(card.select.0, card.select.1).env("ISOBIT_SIM_THREADS", "1");
    command.env("ISOBIT_SIM_MEMORY", "1073741824").env("ISOBIT_COMPILE_CACHE", "");
}

//! Runs the tests of a program again on simulated cards, so that tests which need a card run on
//! every machine.

use isobit_simgpu_install::Installed;
use std::path::Path;
use std::process::Command;

/// A vendor's simulator and the cards that tests run on: one card, eager, with the caching pool;
/// two cards with work deferred as far as the interface allows; and the latter with each storage as
/// a separate allocation.
pub struct Simulator {
    /// Builds it.
    pub install: fn() -> anyhow::Result<Installed>,
    /// The variable that selects the card.
    pub variable: &'static str,
    /// Card, `ISOBIT_SIM_DEFER`, `ISOBIT_POOL`.
    pub cards: &'static [(&'static str, &'static str, &'static str)],
}

/// Runs the calling test program once more for each simulated card, without the test `caller` that
/// calls this.
#[track_caller]
pub fn again(caller: &str, simulator: &Simulator) {
    let installed = (simulator.install)().expect("the simulated GPU is built");
    for (card, deferred, pool) in simulator.cards {
        let mut tests = Command::new(std::env::current_exe().expect("the path of this program"));
        installed.apply(&mut tests).args(["--skip", caller, "--nocapture"]);
        tests.env(simulator.variable, card).env("ISOBIT_SIM_DEFER", deferred).env("ISOBIT_POOL", pool);
        // One test's invalid access must not fail the others, which share its context.
        tests.env("ISOBIT_SIM_FINDINGS", "record");
        // The simulators have no NVRTC, and code that a test compiles must not go to the user's
        // cache.
        if let Some(folder) =
            std::env::var_os("ISOBIT_NVRTC").and_then(|nvrtc| Some(Path::new(&nvrtc).parent()?.to_path_buf()))
        {
            let more = std::env::var_os("LD_LIBRARY_PATH")
                .into_iter()
                .flat_map(|all| std::env::split_paths(&all).collect::<Vec<_>>());
            let all = std::env::join_paths([installed.lib(), folder].into_iter().chain(more))
                .expect("folders without colons");
            tests.env("LD_LIBRARY_PATH", all);
        }
        tests.env("ISOBIT_COMPILE_CACHE", "");
        let output = tests.output().expect("this program starts again");
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "on {card}, deferred {deferred}, pool {pool:?}:\n{said}");
        assert!(!said.contains("skipped: this test needs"), "on {card}: a test found no card:\n{said}");
        assert!(!said.contains("simulated GPU:"), "on {card}: the simulator found something:\n{said}");
    }
}

//! The tests of a program again, on simulated cards: what needs a card is so tested on every machine.

use std::process::Command;

/// Runs the calling test program once more for each simulated card, but for the test that calls this, `caller`: eagerly with the caching pool,
/// and with work done as late as the interface allows and each storage an allocation of its own.
#[track_caller]
pub fn again(caller: &str) {
    let staged = isobit_simgpu_stage::rocm().expect("the simulated GPU is built");
    for (card, deferred, pool) in [("gfx90a", "0", ""), ("gfx1100", "0", ""), ("gfx942", "1", "exact")] {
        let mut tests = Command::new(std::env::current_exe().expect("the path of this program"));
        staged.apply(&mut tests).args(["--skip", caller, "--nocapture"]);
        tests.env("ISOBIT_SIM_ROCM", card).env("ISOBIT_SIM_DEFER", deferred).env("ISOBIT_POOL", pool);
        let output = tests.output().expect("this program starts again");
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "on {card}, deferred {deferred}, pool {pool:?}:\n{said}");
        assert!(!said.contains("skipped: this test needs"), "on {card}: a test found no card:\n{said}");
        assert!(!said.contains("simulated GPU:"), "on {card}: the simulator found something:\n{said}");
    }
}

//! Generates numbers with the cuRAND that the loader finds, on a real card or on the simulated one,
//! and compares them with the recorded digests.

#[allow(dead_code, reason = "only simulated cards have findings")]
#[path = "../../cublas/tests/device/mod.rs"]
mod device;
#[allow(dead_code, reason = "no access here is invalid")]
#[path = "../tests/program/mod.rs"]
mod program;
#[path = "../tests/recorded/mod.rs"]
mod recorded;

use std::process::ExitCode;

fn main() -> ExitCode {
    let device = device::Device::open();
    let mut all_same = true;
    for case in &recorded::CASES {
        let generator = program::Generator::new(&device, case);
        let found = recorded::digests(|call, count| generator.draw(&device, call, count));
        let same = found == case.digests;
        all_same &= same;
        let recorded::Case { kind, ordering, seed, offset, .. } = case;
        let verdict = if same { "as recorded" } else { "not as recorded" };
        let found = found.map(|digest| format!("{digest:#018x}")).join(" ");
        println!("kind {kind}, order {ordering}, seed {seed:#x}, offset {offset}: {found}, {verdict}");
    }
    if all_same { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

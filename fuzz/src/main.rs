//! Searches for inputs that break a target, with libFuzzer. `ISOBIT_FUZZ_TARGET` names the target,
//! so that one program, which takes minutes to build, has all of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

fn target() -> fn(&[u8]) {
    let name = std::env::var("ISOBIT_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = isobit_fuzz::find(&name) else {
        let names: Vec<&str> = isobit_fuzz::TARGETS.iter().map(|target| target.name).collect();
        eprintln!("ISOBIT_FUZZ_TARGET={name:?} is not one of {}", names.join(", "));
        std::process::exit(2);
    };
    target.run
}

fuzz_target!(|data: &[u8]| TARGET.get_or_init(target)(data));

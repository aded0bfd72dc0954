//! Function pointers, virtual calls and recursion on every target; a stack that overflows is a
//! fault.

mod common;
#[path = "../../core/testing/calls.rs"]
mod shared;

use common::{Card, compile};
use isobit_simgpu_amd::isa::Arch;
use shared::{THREADS, deep, of_threads, words};
use std::path::Path;

fn on_every_card(test: impl Fn(&Card) + Sync) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calls.hip");
    std::thread::scope(|scope| {
        for arch in Arch::ALL {
            let (source, test) = (&source, &test);
            scope.spawn(move || test(&Card::new(arch, &compile(source, arch))));
        }
    });
}

#[test]
fn a_stack_is_bounded() {
    let from: [u32; 32] = std::array::from_fn(|i| 7 * i as u32);
    on_every_card(|card| {
        let at = card.upload(&from);
        let expected = of_threads(|i| [deep(if i == 5 { 60 } else { 1 }, from)]);
        assert_eq!(words(card, "depth", 1, &[at, 60]), expected);

        let out = card.uninitialised(4 * THREADS as usize);
        let fault = card.launch("depth", 1, THREADS, &[out, at, 5000]).expect_err("an overflow").to_string();
        assert!(fault.contains("depth: stack overflow"), "{}: {fault}", card.gpu.arch().name());
        assert!(fault.contains("block [0, 0, 0] thread ["), "{}: {fault}", card.gpu.arch().name());
        let fault = card.launch("endless", 1, THREADS, &[out]).expect_err("an overflow").to_string();
        assert!(fault.contains("endless: stack overflow"), "{}: {fault}", card.gpu.arch().name());
        // The card can still be used.
        assert_eq!(words(card, "depth", 1, &[at, 60]), expected);
    });
}

#[test]
fn calls_of_what_is_no_function() {
    on_every_card(|card| {
        let out = card.uninitialised(4 * THREADS as usize);
        for (value, named) in [(0, "a jump to 0x0"), (out, &*format!("a jump to {out:#x}"))] {
            let fault = card.launch("call_value", 1, THREADS, &[out, value]).expect_err("a fault").to_string();
            assert!(fault.contains(named), "{}: {fault}", card.gpu.arch().name());
        }
    });
}

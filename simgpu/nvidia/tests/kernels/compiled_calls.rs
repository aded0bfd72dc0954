//! Function pointers, virtual calls and recursion as clang compiles them, on every card; stacks
//! that overflow, and what a checker finds in functions with frames.

#[path = "../../../core/testing/calls.rs"]
mod shared;

use crate::common::{Card, compile};
use isobit_simgpu_core::finding::{FaultKind, Finding, FindingKind};
use isobit_simgpu_nvidia::arch::Arch;
use shared::{THREADS, deep, of_threads, words};
use std::path::Path;

fn on_every_card(test: impl Fn(&Card) + Sync) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/calls.cu");
    std::thread::scope(|scope| {
        for arch in Arch::ALL {
            let (source, test) = (&source, &test);
            scope.spawn(move || test(&Card::new(arch, &compile(source, arch))));
        }
    });
}

/// Launches a kernel with this much stack for each thread.
fn launch(card: &Card, kernel: &str, stack: u32, args: &[u64]) -> Result<(), String> {
    let kernel = card.module.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
    let arguments: Vec<u8> = args.iter().flat_map(|a| a.to_le_bytes()).collect();
    let launched = card.gpu.launch_with_stack(&kernel, [1; 3], [THREADS, 1, 1], 0, stack, &arguments);
    launched.map_err(|fault| {
        assert_eq!(fault.kind(), FaultKind::Stack, "{fault}");
        fault.to_string()
    })
}

/// Checks that there is one finding for each of the four warps, which names its first thread.
fn one_of_each_warp(found: &[Finding], kind: FindingKind) {
    let named: Vec<_> = found.iter().map(|f| (f.kind, &*f.thread)).collect();
    let expected = [0, 32, 64, 96].map(|thread| format!("block [0, 0, 0] thread [{thread}, 0, 0]"));
    assert_eq!(named, expected.each_ref().map(|thread| (kind, &**thread)), "{found:?}");
}

fn powers(n: u32) -> u32 {
    if n == 0 { 1 } else { 3u32.pow(n) + powers(n - 1) }
}

#[test]
fn stacks_whose_size_depends_on_the_data() {
    on_every_card(|card| assert_eq!(words(card, "allocations", 1, &[]), of_threads(|i| [powers(i % 7)])));
}

#[test]
fn a_stack_is_bounded() {
    let from: [u32; 32] = std::array::from_fn(|i| 7 * i as u32);
    on_every_card(|card| {
        let (at, out) = (card.upload(&from), card.uninitialised(4 * THREADS as usize));
        let args = |n: u64| [out, at, n];
        // 128 bytes of variables, and what the calls keep.
        assert_eq!(launch(card, "depth", 1024, &args(4)), Ok(()));
        assert_eq!(launch(card, "depth", 64 << 10, &args(400)), Ok(()));
        assert_eq!(card.findings.take(), []);
        let expected = of_threads(|i| [deep(if i == 5 { 400 } else { 1 }, from)]);
        assert_eq!(card.download::<u32>(out, THREADS as usize), expected);

        for (stack, n) in [(1024, 8), (64 << 10, 512), (512 << 10, 1 << 20)] {
            let fault = launch(card, "depth", stack, &args(n)).expect_err("an overflow");
            assert!(fault.starts_with("depth: stack overflow: _Z4deepjPKj needs "), "{fault}");
            assert!(
                fault.contains(&format!(" of {stack} are in use")) && fault.contains("thread [5, 0, 0]"),
                "{fault}"
            );
        }
        let fault = launch(card, "endless", 512 << 10, &[out]).expect_err("an overflow");
        assert!(fault.starts_with("endless: stack overflow"), "{fault}");
        // The card can still be used.
        assert_eq!(launch(card, "depth", 64 << 10, &args(400)), Ok(()));
        assert_eq!(card.download::<u32>(out, THREADS as usize), expected);
    });
}

#[test]
fn calls_of_what_is_no_function() {
    on_every_card(|card| {
        let out = card.uninitialised(4 * THREADS as usize);
        let named = format!("call_value: a call through {out:#x}, which is not the address of a function");
        for (value, named) in [(0, "call_value: a call through a null pointer"), (out, &*named)] {
            let fault = card.launch("call_value", 1, THREADS, &[out, value]).expect_err("a fault");
            assert_eq!(fault.kind(), FaultKind::Jump);
            assert!(fault.to_string().starts_with(named) && fault.to_string().contains("thread [0, 0, 0]"), "{fault}");
        }
    });
}

#[test]
fn variables_of_a_function_that_has_returned() {
    on_every_card(|card| {
        let out = card.uninitialised(4 * THREADS as usize);
        for (kernel, access) in [("dangling", ": ld."), ("store_dangling", ": st.")] {
            let found = card.findings(kernel, 1, THREADS, &[out]);
            one_of_each_warp(&found, FindingKind::OutOfBounds);
            assert!(found.iter().all(|f| f.instruction.contains(access)), "{found:?}");
        }
    });
}

#[test]
fn barriers_in_a_recursion() {
    on_every_card(|card| {
        assert_eq!(words(card, "barriers_together", 1, &[]), [8; THREADS as usize]);
        let out = card.uninitialised(4 * THREADS as usize);
        // The even threads return and store their results while the odd ones wait.
        let found = card.findings("barriers_apart", 1, THREADS, &[out]);
        one_of_each_warp(&found, FindingKind::DivergentBarrier);
        let counts = found.iter().map(|f| f.message.contains(": 16 threads of the wave go around the barrier"));
        assert_eq!(counts.collect::<Vec<_>>(), [true, true, true, false], "{found:?}");
        assert!(found[3].message.contains(": 2 threads of the wave go around the barrier"), "{found:?}");
        assert_eq!(card.download::<u32>(out, THREADS as usize), of_threads(|i| [1 + i % 2]));
    });
}

#[test]
fn threads_that_exchange_values_in_a_recursion() {
    on_every_card(|card| {
        let out = card.uninitialised(4 * 64);
        assert_eq!(card.findings("exchange", 1, 64, &[out]), []);
        let value = |i: u32| 3 * (i ^ 1) + [0, 1, 3][i as usize % 3];
        assert_eq!(card.download::<u32>(out, 64), (0..64).map(value).collect::<Vec<_>>());
    });
}

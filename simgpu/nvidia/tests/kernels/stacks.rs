//! The end of a thread's local memory: where its last frame or allocation ends, whatever other
//! lanes and earlier calls needed.

use super::calls::with;
use crate::common::{Card, words_and_findings};
use isobit_simgpu_core::finding::suppress::Suppressions;
use isobit_simgpu_core::finding::{FaultKind, Finding, FindingKind, Findings};
use isobit_simgpu_core::settings::Response;
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::dispatch::Gpu;
use std::sync::Arc;

/// A frame of 28 bytes: the parameter, what a call passes, and an array. Each call stores one past
/// the array, after the deeper calls.
const OVER: &str = "
.func over(.param .b32 n)
{
    .reg .pred p;
    .reg .b32 left;
    .param .b32 p0;
    .local .align 4 .b8 own[20];
    ld.param.u32 left, [n];
    setp.eq.u32 p, left, 0;
    @p bra END;
    sub.u32 left, left, 1;
    st.param.b32 [p0], left;
    call over, (p0);
END:
    st.local.u32 [own+16], left;
    st.local.u32 [own+20], left;
    ret;
}";

/// The outer call stores into the place of the next frame's array; the inner one reads its own.
const STRAY: &str = "
.func stray(.param .b32 n)
{
    .reg .pred p;
    .reg .b32 left;
    .param .b32 p0;
    .local .align 4 .b8 own[20];
    ld.param.u32 left, [n];
    setp.eq.u32 p, left, 0;
    @p bra INNER;
    st.local.u32 [own+40], left;
    st.param.b32 [p0], 0;
    call stray, (p0);
    ret;
INNER:
    ld.local.u32 left, [own+8];
    ret;
}";

fn found(functions: &str, body: &str) -> Vec<Finding> {
    words_and_findings(&with(functions, body), 1, 32).unwrap_or_else(|why| panic!("{why}")).1
}

/// Checks the offsets of stores that lie behind the end of a thread's memory, and the thread that
/// is named.
fn all_behind(found: &[Finding], expected: &[(i64, u32)]) {
    let places: Vec<_> = found.iter().map(|f| (f.offset, f.thread.clone())).collect();
    let expected: Vec<_> =
        expected.iter().map(|(at, thread)| (*at, format!("block [0, 0, 0] thread [{thread}, 0, 0]"))).collect();
    assert_eq!(places, expected, "{found:#?}");
    for finding in found {
        assert_eq!(finding.kind, FindingKind::OutOfBounds, "{finding:?}");
        // The array is the last variable, so that the store begins where the memory ends.
        assert_eq!(finding.buffer, format!("local memory of {} bytes of the thread", finding.offset));
    }
}

/// Calls `over` in the kernel, whose own variable has 4 bytes. Frames start at multiples of 16.
fn calls_of_over(depths: &[&str]) -> String {
    let calls = depths.iter().map(|n| format!("st.param.b32 [p0], {n}; call over, (p0);\n"));
    format!(".param .b32 p0;\nmov.u32 %r3, %t; {}\nret;", calls.collect::<String>())
}

#[test]
fn a_store_past_an_array_is_found_before_and_after_a_deeper_call() {
    let frames = [16, 48, 80, 112].map(|frame| (frame + 28, 0));
    let [first, second, third, fourth] = frames;
    let expected = [first, fourth, third, second, first, first];
    all_behind(&found(OVER, &calls_of_over(&["0", "3", "0"])), &expected);
}

#[test]
fn a_store_past_an_array_is_found_though_another_lane_is_deeper() {
    let body = format!("setp.eq.u32 %p1, %t, 5; selp.u32 %r3, 3, 0, %p1;\n{}", calls_of_over(&["%r3"]));
    let body = body.replace("mov.u32 %r3, %t;", "");
    all_behind(&found(OVER, &body), &[(140, 5), (108, 5), (76, 5), (44, 0)]);
}

#[test]
fn a_stray_store_does_not_initialise_the_next_frame() {
    let body = calls_of_over(&["3"]).replace("ret;", "st.param.b32 [p0], 1; call stray, (p0); ret;");
    let found = found(&format!("{OVER}{STRAY}"), &body);
    let found: Vec<_> = found.iter().skip(4).map(|f| (f.kind, f.offset)).collect();
    assert_eq!(found, [(FindingKind::OutOfBounds, 64), (FindingKind::UninitialisedRead, 64)]);
}

#[test]
fn only_what_is_outside_of_the_whole_stack_fails_the_launch() {
    let far = OVER.replace("[own+20]", "[own+4096]");
    for (functions, fails) in [(OVER, false), (&*far, true)] {
        let mut card = Card::new(Arch::Sm75, with(functions, &calls_of_over(&["0"])).as_bytes());
        card.device.findings = Arc::new(Findings::with(Response::Card, Suppressions::default(), None));
        card.gpu = Gpu::new(Arch::Sm75, card.memory.clone(), card.findings.clone(), 1, 0).expect("threads");
        let outcome = card.launch("main", 1, 32, &[card.upload(&[0u32; 32])]);
        assert_eq!(outcome.err().map(|fault| fault.kind()), fails.then_some(FaultKind::Address));
        assert_eq!(card.findings.take().iter().map(|f| f.kind).collect::<Vec<_>>(), [FindingKind::OutOfBounds]);
    }
}

#[test]
fn allocations_have_an_end() {
    let body = "
    .local .align 4 .b8 own[4];
    st.local.u32 [own], %t;
    stacksave.u64 %rd1;
    stackrestore.u64 %rd1;
    alloca.u64 %rd2, 20, 8;
    st.local.u32 [%rd2+16], %t;
    st.local.u32 [%rd2+20], %t;
    stackrestore.u64 %rd1;
    st.local.u32 [%rd2], %t;
    ld.local.u32 %r1, [own];
    st.global.u32 [%out], %r1;
    ret;";
    let (values, found) = words_and_findings(&with("", body), 1, 32).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(values, (0..32).collect::<Vec<_>>());
    all_behind(&found, &[(36, 0), (16, 0)]);
}

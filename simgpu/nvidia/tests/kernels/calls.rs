//! Function calls: arguments and results in every form that PTX has, and calls that are rejected.

use crate::common::{Card, main_with, words};
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::module::{LoadError, Module};
use std::sync::Arc;

/// Builds a module with functions, and a kernel that calls them.
pub fn with(functions: &str, body: &str) -> String {
    let main = main_with("", body);
    let at = main.find(".visible .entry").expect("the kernel");
    format!("{}{functions}\n{}", &main[..at], &main[at..])
}

fn run(functions: &str, body: &str, threads: u32) -> Vec<u32> {
    words(&with(functions, body), 1, threads).unwrap_or_else(|why| panic!("{why}"))
}

fn refused(ptx: &str) -> LoadError {
    let memory = Arc::new(Memory::new(1 << 24).expect("addresses"));
    Module::load(Arch::Sm80, 0, &memory, ptx.as_bytes()).expect_err("an error")
}

/// `3 * a + b`, with a branch and two returns.
const PARAMS: &str = "
.func (.param .b32 result) affine(.param .b32 a, .param .b32 b)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    setp.lt.u32 %p1, %r1, 8;
    @%p1 bra SMALL;
    mad.lo.u32 %r3, %r1, 3, %r2;
    st.param.b32 [result], %r3;
    ret;
SMALL:
    add.u32 %r3, %r1, %r2;
    st.param.b32 [result+0], %r3;
    ret;
}";

const CALL: &str = "
    {
    .param .b32 p0;
    .param .b32 p1;
    .param .b32 q0;
    st.param.b32 [p0], %t;
    st.param.b32 [p1], 1000;
    call.uni (q0), affine, (p0, p1);
    ld.param.b32 %r1, [q0];
    }
    {
    .param .b32 p0;
    .param .b32 p1;
    .param .b32 q0;
    st.param.b32 [p0], %r1;
    st.param.b32 [p1], %t;
    call (q0), affine, (p0, p1);
    ld.param.b32 %r2, [q0];
    }
    st.global.u32 [%out], %r2;
    ret;";

fn affine(a: u32, b: u32) -> u32 {
    if a < 8 { a + b } else { 3 * a + b }
}

#[test]
fn parameters_in_variables() {
    let expected: Vec<u32> = (0..64).map(|t| affine(affine(t, 1000), t)).collect();
    assert_eq!(run(PARAMS, CALL, 64), expected);
}

#[test]
fn parameters_in_registers_and_constants() {
    let functions = "
.func (.reg .u32 x, .reg .pred even) halve(.reg .u32 n, .reg .u64 wide, .reg .u32 more)
{
    .reg .u32 half, odd, low;
    .reg .u64 sum;
    and.b32 odd, n, 1;
    setp.eq.u32 even, odd, 0;
    shr.u32 half, n, 1;
    cvt.u32.u64 low, wide;
    add.u32 x, half, low;
    @!even add.u32 x, x, more;
    @!even ret;
    add.u32 x, x, 5;
    ret;
}";
    let body = "
    cvt.u64.u32 %rd1, %t;
    call (%r1, %p1), halve, (%t, %rd1, 100);
    selp.u32 %r2, 1, 2, %p1;
    mad.lo.u32 %r1, %r2, 10000, %r1;
    call (%r3, %p2), halve, (%r1, 7, %t);
    add.u32 %r3, %r3, %r1;
    st.global.u32 [%out], %r3;
    ret;";
    let halve = |n: u32, wide: u32, more: u32| n / 2 + wide + if n.is_multiple_of(2) { 5 } else { more };
    let expected = (0..32u32).map(|t| {
        let first = halve(t, t, 100) + if t % 2 == 0 { 10_000 } else { 20_000 };
        halve(first, 7, t) + first
    });
    assert_eq!(run(functions, body, 32), expected.collect::<Vec<_>>());
}

#[test]
fn calls_within_calls_under_predicates_and_in_loops() {
    let functions = format!(
        "{PARAMS}
.func (.param .b32 result) twice(.param .b32 a)
{{
    .reg .b32 %r<4>;
    .reg .pred %p<2>;
    .param .b32 p0;
    .param .b32 p1;
    .param .b32 q0;
    ld.param.b32 %r1, [a];
    mov.u32 %r2, 0;
LOOP:
    st.param.b32 [p0], %r1;
    st.param.b32 [p1], %r2;
    call.uni (q0), affine, (p0, p1);
    ld.param.b32 %r1, [q0];
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 2;
    @%p1 bra LOOP;
    st.param.b32 [result], %r1;
    ret;
}}
.func nothing() {{ ret; }}"
    );
    let body = "
    .param .b32 p0;
    .param .b32 q0;
    mov.u32 %r1, 4444;
    and.b32 %r2, %t, 1;
    setp.eq.u32 %p1, %r2, 1;
    st.param.b32 [p0], %t;
    st.param.b32 [q0], %r1;
    @%p1 call (q0), twice, (p0);
    call.uni nothing;
    call.uni nothing, ();
    activemask.b32 %r3;
    ld.param.b32 %r1, [q0];
    setp.ne.u32 %p2, %r3, 0xffffffff;
    @%p2 add.u32 %r1, %r1, 1000000;
    st.global.u32 [%out], %r1;
    ret;";
    let expected = (0..32).map(|t| if t % 2 == 0 { 4444 } else { affine(affine(t, 0), 1) });
    assert_eq!(run(&functions, body, 32), expected.collect::<Vec<_>>());
}

#[test]
fn structures_and_variables_of_functions() {
    let functions = "
.const .u32 table[4] = { 10, 20, 30, 40 };
.func (.param .align 8 .b8 result[16]) swap(.param .align 8 .b8 pair[16])
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .local .align 8 .b8 stack[16];
    .shared .u32 uses;
    ld.param.v2.u64 {%rd1, %rd2}, [pair];
    st.local.u64 [stack+8], %rd1;
    ld.local.u64 %rd3, [stack+8];
    ld.const.u32 %r1, [table+8];
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd3, %rd3, %rd1;
    atom.shared.add.u32 %r2, [uses], 1;
    st.param.v2.u64 [result], {%rd2, %rd3};
    ret;
}";
    let body = "
    .param .align 8 .b8 p0[16];
    .param .align 8 .b8 q0[16];
    .shared .u32 mine;
    st.shared.u32 [mine], 5;
    cvt.u64.u32 %rd1, %t;
    mov.u64 %rd2, 7;
    st.param.v2.u64 [p0], {%rd1, %rd2};
    call.uni (q0), swap, (p0);
    ld.param.u64 %rd3, [q0];
    ld.param.u64 %rd4, [q0+8];
    mad.lo.u64 %rd5, %rd3, 1000, %rd4;
    cvt.u32.u64 %r1, %rd5;
    st.global.u32 [%out], %r1;
    ret;";
    let ptx = with(functions, body);
    // The function counts its calls in memory that was never written.
    let (values, found) = crate::common::words_and_findings(&ptx, 1, 32).unwrap();
    assert_eq!(values, (0..32).map(|t| 7000 + t + 30).collect::<Vec<_>>());
    assert!(found.iter().all(|f| f.instruction.contains("atom.shared.add.u32 %r2, [uses], 1;")), "{found:?}");
    let card = Card::new(Arch::Sm90, ptx.as_bytes());
    let kernel = card.module.kernel("main").expect("the kernel");
    assert_eq!((kernel.shared_bytes, kernel.local_bytes, kernel.const_bytes), (8, 48, 16));
}

#[test]
fn switches_in_functions_that_are_called_twice() {
    let functions = "
.func (.reg .u32 x) pick(.reg .u32 n)
{
ts: .branchtargets A, B, C;
    brx.idx n, ts;
A:  mov.u32 x, 5; ret;
B:  mov.u32 x, 6; ret;
C:  mov.u32 x, 7; ret;
}";
    let body = "
    rem.u32 %r1, %t, 3;
    call (%r2), pick, (%r1);
    sub.u32 %r1, 2, %r1;
    call (%r3), pick, (%r1);
    mad.lo.u32 %r2, %r2, 10, %r3;
    st.global.u32 [%out], %r2;
    ret;";
    assert_eq!(run(functions, body, 32), (0..32).map(|t| [57, 66, 75][t % 3]).collect::<Vec<_>>());
}

/// Values in registers, predicates among them, and a recursion that keeps registers of every width.
const REGISTERS: &str = "
.func (.reg .b32 sum, .reg .pred odd) count(.reg .b32 n, .reg .b16 small, .reg .b64 wide, .reg .pred flip)
{
    .reg .pred last, %p<3>;
    .reg .b32 %r<6>;
    .reg .b16 %h<3>;
    .reg .b64 %rd<3>;
    setp.eq.u32 last, n, 0;
    @last bra END;
    sub.u32 %r1, n, 1;
    add.u16 %h1, small, 3;
    add.u64 %rd1, wide, 0x100000001;
    not.pred %p1, flip;
    call (%r2, %p2), count, (%r1, %h1, %rd1, %p1);
    cvt.u32.u16 %r3, small;
    cvt.u32.u64 %r4, wide;
    shr.u64 %rd2, wide, 32;
    cvt.u32.u64 %r5, %rd2;
    mad.lo.u32 sum, %r2, 3, %r3;
    mad.lo.u32 sum, sum, 3, %r4;
    mad.lo.u32 sum, sum, 3, %r5;
    @flip add.u32 sum, sum, 1;
    not.pred odd, %p2;
    ret;
END:
    mov.u32 sum, 1;
    mov.pred odd, flip;
    ret;
}";

fn count(n: u32, small: u16, wide: u64, flip: bool) -> (u32, bool) {
    if n == 0 {
        return (1, flip);
    }
    let (sum, odd) = count(n - 1, small.wrapping_add(3), wide.wrapping_add(0x1_0000_0001), !flip);
    let parts = [u32::from(small), wide as u32, (wide >> 32) as u32];
    let sum = parts.iter().fold(sum, |sum, part| sum.wrapping_mul(3).wrapping_add(*part));
    (sum.wrapping_add(flip.into()), !odd)
}

#[test]
fn a_recursion_keeps_registers_of_every_width() {
    let body = "
    and.b32 %r1, %t, 7;
    .reg .b16 %h<2>;
    cvt.u16.u32 %h1, %t;
    cvt.u64.u32 %rd1, %t;
    setp.lt.u32 %p1, %t, 20;
    mov.u32 %r9, %t;
    call (%r2, %p2), count, (%r1, %h1, %rd1, %p1);
    selp.u32 %r3, 1, 0, %p2;
    mad.lo.u32 %r2, %r2, 2, %r3;
    add.u32 %r2, %r2, %r9;
    st.global.u32 [%out], %r2;
    ret;";
    let expected = (0..64u32).map(|t| {
        let (sum, odd) = count(t & 7, t as u16, t.into(), t < 20);
        sum.wrapping_mul(2).wrapping_add(odd.into()).wrapping_add(t)
    });
    assert_eq!(run(REGISTERS, body, 64), expected.collect::<Vec<_>>());
}

/// Functions for calls through pointers, and a table of them.
const POINTERS: &str = "
.func (.param .b32 r) one(.param .b32 a);
.func (.param .b32 r) two(.param .b32 a);
.global .u64 table[2] = { one, generic(two) };
.func (.param .b32 r) one(.param .b32 a)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r1, [a];
    add.u32 %r1, %r1, 1000;
    st.param.b32 [r], %r1;
    ret;
}
.func (.param .b32 r) two(.param .b32 a)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    .param .b32 p;
    .param .b32 q;
    ld.param.b32 %r1, [a];
    mul.lo.u32 %r2, %r1, 2;
    st.param.b32 [p], %r2;
    ld.global.u64 %rd1, [table];
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (q), %rd1, (p), proto;
    ld.param.b32 %r2, [q];
    add.u32 %r1, %r1, %r2;
    st.param.b32 [r], %r1;
    ret;
}
.func (.param .b32 r) wide(.param .b64 a) { st.param.b32 [r], 5; ret; }
.global .u64 other = wide;
.extern .func __cxa_pure_virtual();
.global .u64 abstract = __cxa_pure_virtual;
.func nothing() { ret; }";

/// Calls the pointer `%rd1` with the thread's number, and stores the result.
const THROUGH: &str = "
    .param .b32 p;
    .param .b32 q;
    st.param.b32 [p], %t;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (q), %rd1, (p), proto;
    ld.param.b32 %r1, [q];
    st.global.u32 [%out], %r1;
    ret;";

#[test]
fn lanes_call_different_functions_and_meet_again() {
    let body = "
    .param .b32 p;
    .param .b32 q;
    mov.u64 %rd1, one;
    mov.u64 %rd2, two;
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p1, %r1, 1;
    selp.b64 %rd1, %rd1, %rd2, %p1;
    st.param.b32 [p], %t;
    targets: .calltargets one, two;
    call (q), %rd1, (p), targets;
    activemask.b32 %r3;
    setp.ne.u32 %p2, %r3, 0xffffffff;
    ld.param.b32 %r1, [q];
    @%p2 add.u32 %r1, %r1, 1000000;
    st.global.u32 [%out], %r1;
    ret;";
    let expected = (0..64).map(|t| if t % 2 == 1 { t + 1000 } else { t + 2 * t + 1000 });
    assert_eq!(run(POINTERS, body, 64), expected.collect::<Vec<_>>());
}

#[test]
fn functions_have_addresses_of_their_own() {
    let body = "
    ld.global.u64 %rd1, [table];
    mov.u64 %rd2, one;
    ld.global.u64 %rd3, [table+8];
    setp.eq.u64 %p1, %rd1, %rd2;
    setp.ne.u64 %p2, %rd1, %rd3;
    and.pred %p1, %p1, %p2;
    selp.u32 %r1, 1, 0, %p1;
    st.global.u32 [%out], %r1;
    ld.u32 %r2, [%rd1];
    ret;";
    let (values, found) = crate::common::words_and_findings(&with(POINTERS, body), 1, 32).unwrap();
    assert_eq!(values, [1; 32]);
    // Nothing can be loaded from them.
    assert!(!found.is_empty() && found.iter().all(|f| f.instruction.contains("ld.u32 %r2, [%rd1];")), "{found:?}");
    assert!(found.iter().all(|f| f.kind == isobit_simgpu_core::finding::FindingKind::OutOfBounds), "{found:?}");
}

#[test]
fn pointers_that_cannot_be_called() {
    for (pointer, why) in [
        ("mov.u64 %rd1, 0;", "a call through a null pointer"),
        ("mov.u64 %rd1, 0x1234;", "a call through 0x1234, which is not the address of a function"),
        ("mov.u64 %rd1, main;", "a call of the kernel main through a pointer"),
        ("ld.global.u64 %rd1, [abstract];", "a call of a pure virtual function (__cxa_pure_virtual)"),
        (
            "ld.global.u64 %rd1, [other];",
            "passes 4 bytes (returning 4 bytes), but wide takes 8 bytes (returning 4 bytes)",
        ),
        ("mov.u64 %rd1, nothing;", "but nothing takes nothing (returning nothing)"),
        ("mov.u64 %rd1, one; add.u64 %rd1, %rd1, 1;", "which is not the address of a function of this module"),
    ] {
        // Only thread 3 calls what is no function.
        let body =
            format!("mov.u64 %rd2, one; {pointer} setp.eq.u32 %p1, %t, 3; selp.b64 %rd1, %rd1, %rd2, %p1;\n{THROUGH}");
        let fault = words(&with(POINTERS, &body), 1, 32).expect_err("a fault");
        assert!(fault.contains(why) && fault.contains("thread [3, 0, 0]"), "{pointer}: {fault}");
    }
    let body = THROUGH.replace("proto: .callprototype (.param .b32 _) _ (.param .b32 _);", "proto: .calltargets two;");
    let body = format!("mov.u64 %rd1, one; mov.u64 %rd2, two;\n{body}");
    let fault = words(&with(POINTERS, &body), 1, 32).expect_err("a fault");
    assert!(fault.contains("a call through a pointer reaches one, which it does not name as a target"), "{fault}");
}

#[test]
fn functions_that_call_each_other_without_a_value() {
    let functions = "
.global .u32 calls;
.func b(.reg .b32 n);
.func a(.reg .b32 n)
{
    .reg .pred p;
    .reg .b32 less;
    .reg .b64 at;
    mov.u64 at, calls;
    red.global.add.u32 [at], 1;
    setp.eq.u32 p, n, 0;
    @p ret;
    sub.u32 less, n, 1;
    call b, (less);
    ret;
}
.func b(.reg .b32 n) { call.uni a, (n); ret; }";
    let body = "
    rem.u32 %r1, %t, 4;
    call a, (%r1);
    mov.u64 %rd1, calls;
    bar.sync 0;
    atom.global.add.u32 %r2, [%rd1], 0;
    st.global.u32 [%out], %r2;
    ret;";
    assert_eq!(run(functions, body, 32), [8 * (1 + 2 + 3 + 4); 32]);
}

#[test]
fn parameters_by_address() {
    let functions = "
.func (.param .b32 r) pick(.param .align 4 .b8 words[16], .param .b32 n)
{
    .reg .pred p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    .param .align 4 .b8 w[16];
    .param .b32 i;
    .param .b32 q;
    mov.b64 %rd1, words;
    ld.param.u32 %r1, [n];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.param.u32 %r2, [%rd3];
    mov.u32 %r4, 0;
    setp.eq.u32 p, %r1, 0;
    @p bra END;
    st.param.b32 [w], %r2;
    ld.param.u32 %r3, [%rd1];
    st.param.b32 [w+4], %r3;
    st.param.b32 [w+8], 7;
    st.param.b32 [w+12], 9;
    sub.u32 %r3, %r1, 1;
    st.param.b32 [i], %r3;
    call (q), pick, (w, i);
    ld.param.b32 %r4, [q];
END:
    mad.lo.u32 %r4, %r4, 10, %r2;
    st.param.b32 [r], %r4;
    ret;
}";
    let once = functions.replace("call (q), pick, (w, i);", "st.param.b32 [q], 1;");
    let body = "
    .param .align 4 .b8 w[16];
    .param .b32 i;
    .param .b32 q;
    st.param.b32 [w], 1;
    st.param.b32 [w+4], 2;
    st.param.b32 [w+8], 3;
    st.param.b32 [w+12], 4;
    and.b32 %r1, %t, 3;
    st.param.b32 [i], %r1;
    call (q), pick, (w, i);
    ld.param.b32 %r2, [q];
    st.global.u32 [%out], %r2;
    ret;";
    fn pick(words: [u32; 4], n: usize) -> u32 {
        let below = if n == 0 { 0 } else { pick([words[n], words[0], 7, 9], n - 1) };
        10 * below + words[n]
    }
    let expected: Vec<u32> = (0..32).map(|t| pick([1, 2, 3, 4], t & 3)).collect();
    assert_eq!(run(functions, body, 32), expected);
    // Inlined, too.
    assert_eq!(run(&once, body, 32), (0..32).map(|t| t % 4 + 1 + if t % 4 == 0 { 0 } else { 10 }).collect::<Vec<_>>());
}

#[test]
fn calls_that_there_are_not() {
    let error =
        refused(&with(".extern .func elsewhere(.param .b32 x);", "{ .param .b32 p0; call elsewhere, (p0); } ret;"));
    assert_eq!(error, LoadError::Unresolved("elsewhere".into()));
    let external = ".extern .func elsewhere(.param .b32 x);";
    assert_eq!(refused(&with(external, "mov.u64 %rd1, elsewhere; ret;")), LoadError::Unresolved("elsewhere".into()));
    let table = format!("{external} .global .u64 table = elsewhere;");
    assert_eq!(refused(&with(&table, "ret;")), LoadError::Unresolved("elsewhere".into()));
    let error = refused(&with(PARAMS, "{ .param .b32 p0; .param .b32 q0; call (q0), affine, (p0); } ret;"));
    assert!(error.to_string().contains("affine takes 2 and returns 1 values"), "{error}");
    let malloc = ".extern .func (.param .b64 r) malloc(.param .b64 n);";
    let error = refused(&with(malloc, "{ .param .b64 p0; .param .b64 q0; call (q0), malloc, (p0); } ret;"));
    assert!(error.to_string().contains("malloc of the device's runtime is not simulated"), "{error}");
    for (body, why) in [
        ("call %rd1, ();", "a call through a pointer needs a prototype"),
        ("call %rd1, (), two;", "two is not a prototype"),
        ("x: .callprototype _ (.param .b32 _); call %rd1, (), x;", "x takes 1 and returns 0 values"),
        ("x: .callprototype _ (.param .b64 _); call %rd1, (%r1), x;", "x and its argument of 8 bytes"),
        (
            "x: .callprototype _ (.param .align 8 .b8 _[]); .param .align 8 .b8 p[8]; call %rd1, (p), x;",
            "x takes a variable number of arguments",
        ),
        ("x: .calltargets one, three; call %rd1, (%r1), x;", "three of x is not a function"),
    ] {
        let error = refused(&with(POINTERS, &format!("{body} ret;"))).to_string();
        assert!(error.contains(why), "{body}: {error}");
    }
}

#[test]
fn what_the_runtime_of_the_device_has() {
    let printf = ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 list);";
    let body = "
    .param .b64 p0;
    .param .b64 p1;
    .param .b32 q0;
    st.param.b64 [p0], 0;
    st.param.b64 [p1], 0;
    call.uni (q0), vprintf, (p0, p1);
    ld.param.b32 %r1, [q0];
    add.u32 %r1, %r1, %t;
    st.global.u32 [%out], %r1;
    ret;";
    // Without a format, the result is -1.
    assert_eq!(run(printf, body, 32), (0..32u32).map(|i| i.wrapping_sub(1)).collect::<Vec<_>>());

    let fail = ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);";
    let body = "
    .param .b64 p0;
    .param .b64 p1;
    .param .b32 p2;
    .param .b64 p3;
    .param .b64 p4;
    setp.eq.u32 %p1, %t, 3;
    @!%p1 bra END;
    call.uni __assertfail, (p0, p1, p2, p3, p4);
END:
    ret;";
    let why = words(&with(fail, body), 1, 32).expect_err("a fault");
    assert!(why.contains("an assertion of the kernel failed") && why.contains("thread [3, 0, 0]"), "{why}");
}

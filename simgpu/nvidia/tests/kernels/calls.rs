//! Function calls: arguments and results in every form that PTX has, and calls that are rejected.

use crate::common::{Card, main_with, words};
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::module::{LoadError, Module};
use std::sync::Arc;

/// Builds a module with functions, and a kernel that calls them.
fn with(functions: &str, body: &str) -> String {
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

#[test]
fn recursion_is_refused() {
    let itself = ".func itself() { call itself; ret; }";
    let error = refused(&with(itself, "call.uni itself; ret;"));
    assert!(matches!(&error, LoadError::Invalid(e) if e.function.as_deref() == Some("main")), "{error}");
    assert!(error.to_string().contains("itself calls itself, but recursion is not simulated"), "{error}");
    let mutual = ".func b(); .func a() { call b; ret; } .func b() { call a; ret; }";
    let error = refused(&with(mutual, "call.uni a; ret;"));
    assert!(error.to_string().contains("a calls itself"), "{error}");
}

#[test]
fn calls_that_there_are_not() {
    let error =
        refused(&with(".extern .func elsewhere(.param .b32 x);", "{ .param .b32 p0; call elsewhere, (p0); } ret;"));
    assert_eq!(error, LoadError::Unresolved("elsewhere".into()));
    let body = "mov.u64 %rd1, f; proto: .callprototype _ (); call %rd1, (), proto; ret;";
    let error = refused(&with(".func f() { ret; }", body));
    assert!(matches!(&error, LoadError::Invalid(_)), "{error}");
    let error = refused(&with(PARAMS, "{ .param .b32 p0; .param .b32 q0; call (q0), affine, (p0); } ret;"));
    assert!(error.to_string().contains("affine takes 2 and returns 1 values"), "{error}");
    let malloc = ".extern .func (.param .b64 r) malloc(.param .b64 n);";
    let error = refused(&with(malloc, "{ .param .b64 p0; .param .b64 q0; call (q0), malloc, (p0); } ret;"));
    assert!(error.to_string().contains("malloc of the device's runtime is not simulated"), "{error}");
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

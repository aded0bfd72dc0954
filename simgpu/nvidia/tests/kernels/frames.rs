//! Functions with frames: what their code takes from the text, the registers that their calls keep,
//! and the memory that a thread's stack has.

use crate::calls::with;
use crate::common::{main_with, words};

fn run(functions: &str, body: &str) -> Vec<u32> {
    words(&with(functions, body), 1, 32).unwrap_or_else(|why| panic!("{why}"))
}

/// A function that calls the one whose address it takes; `again` is a call of its own function.
fn chooses(again: &str) -> String {
    format!(
        "
.func (.reg .b32 r) one(.reg .b32 a) {{ add.u32 r, a, 1000; ret; }}
.func (.reg .b32 r) two(.reg .b32 a) {{ mul.lo.u32 r, a, 3; ret; }}
.func (.reg .b32 r) choose(.reg .b32 a)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
ts: .branchtargets EVEN, ODD;
    and.b32 %r1, a, 1;
    mov.u64 %rd1, one;
    brx.idx %r1, ts;
ODD:
    mov.u64 %rd1, two;
EVEN:
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %rd1, (a), proto;
    setp.lt.u32 %p1, a, 2;
    @%p1 ret;
    sub.u32 %r2, a, 2;
    mov.u32 %r3, r;
    {again}
    add.u32 r, r, %r3;
    ret;
}}"
    )
}

const CHOOSE: &str = "
    call (%r1), choose, (%t);
    st.global.u32 [%out], %r1;
    ret;";

fn chosen(a: u32) -> u32 {
    if a.is_multiple_of(2) { a + 1000 } else { 3 * a }
}

#[test]
fn an_inlined_function_takes_the_address_of_a_function() {
    let expected = (0..32).map(|t| if t < 2 { chosen(t) } else { 2 * chosen(t) });
    assert_eq!(run(&chooses(""), CHOOSE), expected.collect::<Vec<_>>());
}

#[test]
fn a_recursive_function_takes_the_address_of_a_function() {
    let expected = (0..32u32).map(|t| (t % 2..=t).step_by(2).map(chosen).sum());
    assert_eq!(run(&chooses("call (r), choose, (%r2);"), CHOOSE), expected.collect::<Vec<u32>>());
}

/// What is saved before a loop is needed in each of its rounds.
#[test]
fn a_loop_frees_what_each_round_allocates() {
    for (width, wide) in [(64, "mul.wide.u32 %rd3, %t, 3; cvt.u32.u64 %r3, %rd3;"), (32, "mul.lo.u32 %r3, %t, 3;")] {
        let (saved, at) = if width == 64 { ("%rd1", "%rd2") } else { ("%r11", "%r12") };
        let body = format!(
            "
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
    stacksave.u{width} {saved};
LOOP:
    alloca.u{width} {at}, 32, 16;
    st.local.u32 [{at}+28], %t;
    ld.local.u32 %r4, [{at}+28];
    stackrestore.u{width} {saved};
    {wide}
    add.u32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 100;
    @%p1 bra LOOP;
    st.global.u32 [%out], %r2;
    ret;"
        );
        let expected: Vec<u32> = (0..32).map(|t| 400 * t).collect();
        assert_eq!(words(&main_with("", &body), 1, 32).as_ref(), Ok(&expected), "{width} bits");
    }
}

/// The function counts in a register that holds a value from the end of its first block, a loop, to
/// the start. The block begins with a call of what uses the same row.
#[test]
fn a_function_that_begins_with_a_call_keeps_what_its_loop_carries() {
    let functions = "
.global .u32 rounds[32];
.func (.reg .b32 r) counted();
.func other()
{
    .reg .pred p;
    .reg .b32 x;
    mov.u32 x, %tid.x;
    add.u32 x, x, 77;
    setp.lt.u32 p, x, 77;
    @p call (x), counted, ();
    ret;
}
.func (.reg .b32 r) counted()
{
    .reg .pred first, more;
    .reg .b32 n, t, round;
    .reg .b64 at, base;
LOOP:
    call other, ();
    mov.u32 t, %tid.x;
    mov.u64 base, rounds;
    mad.wide.u32 at, t, 4, base;
    ld.global.u32 round, [at];
    setp.eq.u32 first, round, 0;
    @first mov.u32 n, 0;
    add.u32 n, n, 3;
    add.u32 round, round, 1;
    st.global.u32 [at], round;
    setp.lt.u32 more, round, 5;
    @more bra LOOP;
    mov.u32 r, n;
    ret;
}";
    let body = "
    call (%r1), counted, ();
    st.global.u32 [%out], %r1;
    ret;";
    assert_eq!(run(functions, body), [15; 32]);
}

/// As much as a kernel may declare leaves room for the frames of its functions.
#[test]
fn local_variables_of_megabytes_leave_room_for_calls() {
    let functions = "
.func (.reg .b32 r) sum(.reg .b32 n)
{
    .reg .pred p;
    .reg .b32 less;
    mov.u32 r, 0;
    setp.eq.u32 p, n, 0;
    @p ret;
    sub.u32 less, n, 1;
    call (r), sum, (less);
    add.u32 r, r, n;
    ret;
}";
    let body = "
    .local .b8 large[5242880];
    st.local.u32 [large+5242876], %t;
    and.b32 %r1, %t, 3;
    call (%r2), sum, (%r1);
    ld.local.u32 %r3, [large+5242876];
    mad.lo.u32 %r2, %r2, 100, %r3;
    st.global.u32 [%out], %r2;
    ret;";
    assert_eq!(run(functions, body), (0..32).map(|t| [0, 1, 3, 6][t as usize % 4] * 100 + t).collect::<Vec<u32>>());
}

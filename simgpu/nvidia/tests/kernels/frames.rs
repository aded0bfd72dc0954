//! Functions with frames: what their code takes from the text, the registers that their calls keep,
//! and the memory that a thread's stack has.

use crate::calls::with;
use crate::common::words;

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
    if a % 2 == 0 { a + 1000 } else { 3 * a }
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

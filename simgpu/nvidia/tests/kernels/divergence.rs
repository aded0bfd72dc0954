//! Threads of a warp that take different paths: each computes the same as alone, and they
//! reconverge where the paths meet.

use crate::common::{main_with, words};
use isobit_simgpu_core::undefined;

const ALL: u32 = u32::MAX;

fn run(body: &str, threads: u32) -> Vec<u32> {
    words(&main_with("", body), 1, threads).unwrap_or_else(|why| panic!("{why}"))
}

/// Returns the values of a function of the thread.
fn by_thread(threads: u32, value: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..threads).map(value).collect()
}

/// Nested ifs: a value in `%r1`; `%r5` and `%r6` hold the active lanes where the inner and the
/// outer paths meet.
const NESTED: &str = "
    mov.u32 %r1, 0;
    setp.lt.u32 %p1, %t, 10;
    @%p1 bra A;
    and.b32 %r2, %t, 1;
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra B;
    add.u32 %r1, %r1, 100;
    bra.uni C;
B:  add.u32 %r1, %r1, 200;
    setp.gt.u32 %p3, %t, 20;
    @!%p3 bra C;
    add.u32 %r1, %r1, 1000;
C:  activemask.b32 %r5;
    bra.uni D;
A:  add.u32 %r1, %r1, 300;
    mov.u32 %r5, 0;
D:  activemask.b32 %r6;";

#[test]
fn nested_ifs() {
    let value = |t: u32| match t {
        0..10 => 300,
        _ if t % 2 == 1 => 100,
        _ if t > 20 => 1200,
        _ => 200,
    };
    assert_eq!(run(&format!("{NESTED} st.global.u32 [%out], %r1; ret;"), 64), by_thread(64, value));
    // Where the inner paths meet, all lanes that took them are active; where the outer paths meet,
    // all lanes are.
    let inner = |t: u32| match t {
        0..10 => 0,
        10..32 => !0x3ff,
        _ => ALL,
    };
    assert_eq!(run(&format!("{NESTED} st.global.u32 [%out], %r5; ret;"), 64), by_thread(64, inner));
    assert_eq!(run(&format!("{NESTED} st.global.u32 [%out], %r6; ret;"), 64), by_thread(64, |_| ALL));
}

#[test]
fn loops_of_different_lengths() {
    let body = "
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
LOOP:
    setp.ge.u32 %p1, %r2, %t;
    @%p1 bra DONE;
    mad.lo.u32 %r1, %r2, 3, %r1;
    add.u32 %r2, %r2, 1;
    bra.uni LOOP;
DONE:
    activemask.b32 %r3;
    setp.ne.u32 %p2, %r3, 0xffffffff;
    @%p2 mov.u32 %r1, 0xdead;
    st.global.u32 [%out], %r1;
    ret;";
    assert_eq!(run(body, 96), by_thread(96, |t| (0..t).map(|k| 3 * k).sum()));
}

#[test]
fn loops_within_loops_that_lanes_leave_and_go_on_with() {
    let body = "
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
OUTER:
    mov.u32 %r3, 0;
INNER:
    add.u32 %r1, %r1, 1;
    setp.eq.u32 %p1, %r1, 50;
    @%p1 bra OUT;
    add.u32 %r3, %r3, 1;
    add.u32 %r4, %r2, %t;
    and.b32 %r4, %r4, 7;
    setp.le.u32 %p2, %r3, %r4;
    @%p2 bra INNER;
    rem.u32 %r5, %r2, 3;
    add.u32 %r2, %r2, 1;
    setp.eq.u32 %p3, %r5, 1;
    @%p3 bra OUTER;
    add.u32 %r1, %r1, 2;
    setp.lt.u32 %p4, %r2, 20;
    @%p4 bra OUTER;
OUT:
    st.global.u32 [%out], %r1;
    ret;";
    let value = |t: u32| {
        let mut sum = 0;
        let mut round = 0;
        loop {
            let mut inner = 0;
            loop {
                sum += 1;
                if sum == 50 {
                    return sum;
                }
                inner += 1;
                if inner > (round + t) & 7 {
                    break;
                }
            }
            let third = round % 3;
            round += 1;
            if third == 1 {
                continue;
            }
            sum += 2;
            if round >= 20 {
                return sum;
            }
        }
    };
    assert_eq!(run(body, 64), by_thread(64, value));
}

#[test]
fn a_loop_that_is_entered_in_two_places() {
    let body = "
    mov.u32 %r1, 1;
    mov.u32 %r2, 0;
    and.b32 %r3, %t, 1;
    setp.eq.u32 %p1, %r3, 1;
    @%p1 bra SECOND;
FIRST:
    mul.lo.u32 %r1, %r1, 3;
    setp.gt.u32 %p2, %r1, 5000;
    @%p2 bra DONE;
SECOND:
    add.u32 %r1, %r1, %t;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p3, %r2, 6;
    @%p3 bra FIRST;
    and.b32 %r4, %r1, 4;
    setp.ne.u32 %p4, %r4, 0;
    @%p4 bra SECOND;
DONE:
    st.global.u32 [%out], %r1;
    ret;";
    let value = |t: u32| {
        let (mut x, mut n) = (1u32, 0);
        let mut first = t.is_multiple_of(2);
        loop {
            if first {
                x *= 3;
                if x > 5000 {
                    return x;
                }
            }
            x += t;
            n += 1;
            if n < 6 {
                first = true;
            } else if x & 4 != 0 {
                first = false;
            } else {
                return x;
            }
        }
    };
    // Thread 0 would loop forever if bit 2 is set: it adds nothing.
    assert_eq!(run(body, 64)[1..], by_thread(64, |t| if t == 0 { 0 } else { value(t) })[1..]);
}

#[test]
fn switches() {
    let body = "
    mov.u32 %r2, 0;
    and.b32 %r1, %t, 7;
    setp.gt.u32 %p1, %r1, 4;
    @%p1 bra OTHER;
ts: .branchtargets ZERO, ONE, TWO, ONE, END;
    brx.idx %r1, ts;
ZERO:
    mov.u32 %r2, 10;
    bra.uni JOIN;
ONE:
    mov.u32 %r2, 11;
TWO:
    add.u32 %r2, %r2, 1;
    bra.uni JOIN;
OTHER:
    mov.u32 %r2, 99;
JOIN:
    activemask.b32 %r3;
    popc.b32 %r3, %r3;
    mad.lo.u32 %r2, %r3, 1000, %r2;
    st.global.u32 [%out], %r2;
END:
    ret;";
    // Four of 32 lanes end in the switch.
    let value = |t: u32| match t & 7 {
        0 => 28_010,
        1 | 3 => 28_012,
        2 => 28_001,
        4 => 0,
        _ => 28_099,
    };
    assert_eq!(run(body, 64), by_thread(64, value));
}

#[test]
fn threads_that_return_early() {
    let body = "
    and.b32 %r1, %t, 3;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra OUT;
    setp.eq.u32 %p2, %r1, 1;
    st.global.u32 [%out], 1;
    @%p2 exit;
    setp.eq.u32 %p3, %r1, 2;
    @%p3 ret;
    bar.sync 0;
    activemask.b32 %r2;
    st.global.u32 [%out], %r2;
OUT:
    ret;";
    let value = |t: u32| match t % 4 {
        0 => 0,
        1 | 2 => 1,
        _ => 0x8888_8888,
    };
    assert_eq!(run(body, 128), by_thread(128, value));
}

#[test]
fn registers_that_were_never_written_hold_the_same_garbage_in_every_run() {
    let body = "
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 mov.u32 %r2, 7;
    @%p4 mov.u32 %r2, 9;
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%out], %r2;
    ret;";
    // The predicate has one bit of the word for each thread.
    let value = |t: u32| match (undefined::WORD >> t & 1, t % 2) {
        (1, _) => 9,
        (_, 1) => 7,
        _ => undefined::WORD,
    };
    for _ in 0..2 {
        assert_eq!(run(body, 32), by_thread(32, |t| value(t).wrapping_add(undefined::WORD)));
    }
}

#[test]
fn lanes_that_have_gone_on_do_not_disturb_others() {
    // While even lanes wait at the barrier and hold 32-bit values, odd ones compute 64-bit and
    // 16-bit values.
    let body = "
    and.b32 %r1, %t, 1;
    add.u32 %r2, %t, 5;
    add.u32 %r3, %t, 6;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra ODD;
    barrier.sync 0;
ODD:
    cvt.u64.u32 %rd1, %r2;
    mul.lo.u64 %rd2, %rd1, %rd1;
    cvt.u16.u64 %h1, %rd2;
    add.u16 %h1, %h1, 1;
    cvt.u32.u16 %r4, %h1;
    add.u32 %r4, %r4, %r3;
    st.global.u32 [%out], %r4;
    ret;";
    let ptx = main_with(".reg .b16 %h<4>;", body);
    assert_eq!(words(&ptx, 1, 64).unwrap(), by_thread(64, |t| (t + 5) * (t + 5) + 1 + t + 6));
}

#[test]
fn a_body_may_end_without_a_return() {
    assert_eq!(run("st.global.u32 [%out], %t;", 40), by_thread(40, |t| t));
}

#[test]
fn many_registers_take_few_rows() {
    let mut body = String::from("mov.u32 %r1, %t;\n");
    let mut registers = String::new();
    for n in 0..2000 {
        registers += &format!(".reg .b32 %x{n};\n");
        let from = if n == 0 { "%r1".to_owned() } else { format!("%x{}", n - 1) };
        body += &format!("add.u32 %x{n}, {from}, 1;\n");
    }
    body += "st.global.u32 [%out], %x1999; ret;";
    let ptx = main_with(&registers, &body);
    assert_eq!(words(&ptx, 1, 32).unwrap(), by_thread(32, |t| t + 2000));
    let card = crate::common::Card::new(isobit_simgpu_nvidia::arch::Arch::Sm80, ptx.as_bytes());
    assert!(card.module.kernel("main").unwrap().registers < 16);
}

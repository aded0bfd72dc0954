//! Threads that spin until others act: they make progress, whether the others are in the same warp,
//! the same block, or another block.

use crate::common::{Card, main_with, words};
use isobit_simgpu_nvidia::arch::Arch;

/// A lock in shared memory that every thread takes to increment a counter without an atomic.
const LOCKED: &str = "
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra START;
    st.shared.u32 [lock], 0;
    st.shared.u32 [counter], 0;
START:
    bar.sync 0;
AGAIN:
    atom.shared.cas.b32 %r1, [lock], 0, 1;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra AGAIN;
    ld.shared.u32 %r2, [counter];
    add.u32 %r3, %r2, 1;
    st.shared.u32 [counter], %r3;
    atom.shared.exch.b32 %r4, [lock], 0;
    st.global.u32 [%out], %r2;
    ret;";

fn locked(threads: u32) {
    let ptx = main_with(".shared .u32 lock; .shared .u32 counter;", LOCKED);
    let mut order = words(&ptx, 1, threads).unwrap();
    order.sort_unstable();
    assert_eq!(order, (0..threads).collect::<Vec<_>>(), "the lock excludes other threads");
}

#[test]
fn a_lock_among_the_lanes_of_a_warp() {
    locked(32);
}

#[test]
fn a_lock_among_the_warps_of_a_block() {
    locked(256);
}

#[test]
fn a_warp_that_waits_for_a_later_one() {
    let body = "
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    setp.lt.u32 %p2, %t, 32;
    @!%p2 bra SET;
WAIT:
    atom.shared.or.b32 %r1, [flag], 0;
    setp.eq.u32 %p3, %r1, 0;
    @%p3 nanosleep.u32 20;
    @%p3 bra WAIT;
    st.global.u32 [%out], %r1;
    ret;
SET:
    setp.eq.u32 %p4, %t, 63;
    @%p4 atom.shared.exch.b32 %r2, [flag], 5;
    st.global.u32 [%out], 1;
    ret;";
    let expected: Vec<u32> = (0..64).map(|t| if t < 32 { 5 } else { 1 }).collect();
    assert_eq!(words(&main_with(".shared .u32 flag;", body), 1, 64).unwrap(), expected);
}

/// Lanes spin in a loop that comes before the code they wait for, both in the order of the code and
/// of the lanes.
#[test]
fn lanes_that_wait_for_what_others_do_later() {
    let body = "
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.u32 [turn], 31;
    bar.warp.sync 0xffffffff;
    setp.eq.u32 %p3, %t, 31;
    @%p3 bra MINE;
WAIT:
    atom.shared.or.b32 %r1, [turn], 0;
    setp.ne.u32 %p2, %r1, %t;
    @%p2 bra WAIT;
MINE:
    sub.u32 %r2, %t, 1;
    atom.shared.exch.b32 %r3, [turn], %r2;
    st.global.u32 [%out], %r3;
    ret;";
    assert_eq!(words(&main_with(".shared .u32 turn;", body), 1, 32).unwrap(), (0..32).collect::<Vec<_>>());
}

#[test]
fn blocks_that_wait_for_the_block_before() {
    // The first word counts; block n stores the count when it reaches n.
    let body = "
    mov.u32 %r1, %ctaid.x;
WAIT:
    atom.global.add.u32 %r2, [%base], 0;
    setp.ne.u32 %p1, %r2, %r1;
    @%p1 bra WAIT;
    add.u32 %r3, %r1, 1;
    atom.global.exch.b32 %r4, [%base], %r3;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 ret;
    st.global.u32 [%out], %r4;
    ret;";
    let expected: Vec<u32> = (0..64).map(|block| if block == 0 { 64 } else { block }).collect();
    assert_eq!(words(&main_with("", body), 64, 1).unwrap(), expected);
}

/// Loops that commit groups of copies or leave arrivals at a barrier, and wait for a word that no
/// thread sets. Where what counts them without end was part of the state, they never returned to an
/// earlier state, and the launch never ended.
#[test]
fn endless_counts_do_not_hide_a_deadlock() {
    for step in ["cp.async.commit_group;", "bar.arrive 1, 64;", "bar.arrive 1, 96;"] {
        let wait = format!(
            "WAIT:\n{step}\natom.global.or.b32 %r1, [%out], 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\nret;"
        );
        let ptx = main_with("", &wait).replace("sm_75", "sm_80");
        let card = Card::new(Arch::Sm80, ptx.as_bytes());
        let why = card.launch("main", 2, 96, &[card.upload(&[0u32; 192])]).expect_err("a deadlock").to_string();
        assert!(why.contains("deadlock"), "{step} {why}");
    }
}

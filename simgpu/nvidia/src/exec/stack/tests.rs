//! The bounds of a stack, and the host memory that it takes.

use super::super::calls::{Callee, Calls, Reach, Site};
use super::super::program::Place;
use super::super::row::Row;
use super::*;
use crate::ptx::ast::{Function, Signature};

/// Returns a program that has a stack and a function without a frame of its own, whose caller keeps
/// a register of 64 bits.
fn program() -> Program {
    let function = Function { name: "deep".into(), ..Function::default() };
    let slot = Slot { place: Place(1), bits: 64 };
    let (reach, signature) = (Reach::Function(0), Signature::default());
    let site = Site { reach, arguments: Vec::new(), results: Vec::new(), kept: vec![slot], signature };
    let callees = vec![Callee::new(&function, None, 0, 0, Vec::new())];
    let calls = Calls { sites: vec![site], callees, frame: Place(0), stack: true, ..Calls::default() };
    Program { calls, ..Program::default() }
}

#[test]
fn the_limit_and_the_size_of_local_memory_are_different_errors() {
    let mut warp = Warp::default();
    warp.private.reset(64);
    warp.stack.reset(&program(), 1024);
    // A frame of values that do not count.
    let why = warp.raise(0, MOST, 8, "deep").expect_err("no room");
    assert_eq!(why, "deep needs 33554432 bytes, 0 calls deep: the thread's local memory exceeds 33554432 bytes");
    assert_eq!(warp.raise(1, 1000, 1000, "deep"), Ok(64));
    let why = warp.raise(1, 40, 40, "deep").expect_err("an overflow");
    assert_eq!(why, "stack overflow: deep needs 40 bytes, and 1000 of 1024 are in use, 0 calls deep");
    // What failed took nothing.
    assert_eq!(warp.raise(1, 24, 24, "deep"), Ok(64 + 1008));
}

#[test]
fn what_calls_keep_takes_memory_of_the_host() {
    let program = program();
    let mut warp = Warp { rows: vec![Row::ZERO; 3], ..Warp::default() };
    assert_eq!(warp.stack.host_bytes(), 0);
    warp.stack.reset(&program, 1 << 20);
    let empty = warp.stack.host_bytes();
    for _ in 0..100 {
        warp.call(&program, 0, 0, u32::MAX, 5).expect("room");
    }
    // At least the register, the step after the call, and the frame of the caller.
    assert!(warp.stack.host_bytes() - empty >= 100 * LANES * (8 + 4 + 4), "{}", warp.stack.host_bytes());
    for _ in 0..100 {
        assert_eq!(warp.leave(&program, 0, u32::MAX), [5; LANES]);
    }
    assert_eq!(warp.stack.host_bytes(), empty);
}

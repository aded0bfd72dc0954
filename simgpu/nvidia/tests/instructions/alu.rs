//! Every arithmetic form that the kernels use is lowered, and invalid forms are rejected.

use crate::lanes::Op;

/// Every arithmetic form that clang emits for the kernels: opcode, modifiers, and the operands'
/// registers and constants.
const TREE: &str = include_str!("tree.txt");

#[test]
fn the_tree_lowers() {
    let mut failed = Vec::new();
    for line in TREE.lines() {
        let (text, operands) = line.split_once(' ').expect("operands");
        if let Err(why) = Op::try_new(text, operands, 0) {
            failed.push(format!("{line}: {why}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Modifiers, types, widths and numbers of operands that an instruction does not support are errors
/// that name the fault.
#[test]
fn what_is_not_ptx_is_refused() {
    for (text, operands, why) in [
        ("add.ftz.s32", "b32 b32 b32", ".ftz"),
        ("add.b32", "b32 b32 b32", ".b32"),
        ("add.sat.u32", "b32 b32 b32", ".u32"),
        ("add.f64.sat", "b64 b64 b64", ""),
        ("add.rn.ftz.f64", "b64 b64 b64", ".f64"),
        ("add.s32", "b32 b32", "1 sources, but 2"),
        ("add.s32", "b32 b32 b64", "64 bits, but 32"),
        ("add.s32", "b16 b32 b32", "not a destination of 32 bits"),
        ("add.f32", "b32 b32 #1", "not a source"),
        ("add", "b32 b32 b32", "no type"),
        ("fma.rn.s32", "b32 b32 b32 b32", ".s32"),
        ("mul.s32", "b32 b32 b32", ".lo, .hi and .wide"),
        ("mul.wide.u64", "b64 b64 b64", ".u64"),
        ("setp.foo.s32", "pred b32 b32", "no comparison"),
        ("setp.lt.b32", "pred b32 b32", "no .lt of .b32"),
        ("setp.ltu.s32", "pred b32 b32", "no .ltu of .s32"),
        ("setp.lt.and.s32", "pred b32 b32", "2 sources, but 3"),
        ("setp.lt.s32", "b32 b32 b32", "not a predicate"),
        ("cvt.s32.f32", "b32 b32", "needs a rounding modifier"),
        ("cvt.f32.f64", "b32 b64", "needs a rounding modifier"),
        ("cvt.rn.s32.f32", "b32 b32", "no such rounding"),
        ("cvt.rn.e4m3x2.f32", "b16 b32 b32", ".satfinite"),
        ("shf.l.b32", "b32 b32 b32 b32", ".clamp nor .wrap"),
        ("lop3.b32", "b32 b32 b32 b32 #256", "not an 8-bit table"),
        ("mov.b32", "{b16,b16,b16} b32", "3 elements"),
        ("sin.f32", "b32 b32", "only as .approx"),
        ("tanh.approx.f64", "b64 b64", ".f64"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "b32 b32 b32 b32", "rounding is not documented"),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "b64 b64 b64 b64", "1 registers, but 2"),
        ("mma.sync.aligned.m16n8k16.row.col.satfinite.f64.f64.f64.f64", "b64 b64 b64 b64", ".satfinite"),
        ("mma.sync.aligned.m16n8k32.row.col.f64.f64.f64.f64", "b64 b64 b64 b64", "shape is not simulated"),
        ("mma.sync.aligned.m8n8k4.row.col.f64.s8.s8.f64", "b64 b64 b64 b64", "must be .s32"),
    ] {
        let refusal = Op::try_new(text, operands, 0).err().unwrap_or_else(|| panic!("{text} is lowered"));
        assert!(refusal.contains(why), "{text}: {refusal}");
    }
}

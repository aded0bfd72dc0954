//! Three kernels for each operation and dtype. Each has a module, since a driver compiles all of
//! one at once. Integers that differ in their sign alone share those of sums and products, and what
//! finds positions shares the one for segments' results, which are keys and positions by then.

use super::without_sign;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, ReduceOp};

/// Threads go along the sequences.
pub const ROWS: u8 = 0;
/// Threads go across the sequences, whose neighbours lie side by side.
pub const COLUMNS: u8 = 1;
/// Threads go along the sequences of segments' results.
pub const SECOND_PASS: u8 = 2;

/// The key of a kernel.
pub fn key(op: ReduceOp, dtype: DType, variant: u8) -> Key {
    let (op, dtype) = carrier(op, dtype, variant);
    Key::new(Family::Reduce, op.index(), &[dtype], variant)
}

/// The operation and dtype under whose key a kernel is.
fn carrier(op: ReduceOp, dtype: DType, variant: u8) -> (ReduceOp, DType) {
    match op {
        // Both wrap.
        ReduceOp::Sum | ReduceOp::Prod => (op, without_sign(dtype)),
        // Of either, the largest key wins, and what is written is its position.
        ReduceOp::ArgMax | ReduceOp::ArgMin if variant == SECOND_PASS => (ReduceOp::ArgMax, order_key(dtype)),
        _ => (op, dtype),
    }
}

/// The integer in whose order candidates for a position are: `order_key` in ops.cuh, of what values
/// are compared as.
const fn order_key(dtype: DType) -> DType {
    match dtype {
        DType::F64 | DType::I64 => DType::I64,
        DType::U32 => DType::U32,
        _ => DType::I32,
    }
}

/// Adds the modules of reductions.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        for &op in ReduceOp::ALL.iter().filter(|&&op| op != ReduceOp::Mean || dtype.is_float()) {
            let mut module = Module::new(format!("reduce_{op}_{dtype}"), "ops/reduce/reduce.cu");
            let variants = if op.is_arg() { &[ROWS, COLUMNS][..] } else { &[ROWS, COLUMNS, SECOND_PASS] };
            for &variant in variants.iter().filter(|&&variant| carrier(op, dtype, variant) == (op, dtype)) {
                kernel(&mut module, op, dtype, variant);
            }
            if !module.instances.is_empty() {
                modules.push(module);
            }
        }
        if order_key(dtype) == dtype {
            let mut module = Module::new(format!("reduce_arg_again_{dtype}"), "ops/reduce/reduce.cu");
            kernel(&mut module, ReduceOp::ArgMax, dtype, SECOND_PASS);
            modules.push(module);
        }
    }
}

fn kernel(module: &mut Module, op: ReduceOp, dtype: DType, variant: u8) {
    let (name, line) = match variant {
        ROWS => ("rows", "ISOBIT_REDUCE_ROWS"),
        COLUMNS => ("columns", "ISOBIT_REDUCE_COLUMNS"),
        _ => ("again", "ISOBIT_REDUCE_AGAIN"),
    };
    let ty = match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        other => other.as_str(),
    };
    module.kernel(key(op, dtype, variant), format!("{op}_{dtype}_{name}"), line, &[&format!("{op:?}"), ty]);
}

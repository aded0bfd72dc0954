//! Three kernels per operation and dtype. Each has its own module, because a driver compiles all
//! kernels of a module at once. Signed integers share the kernels of sums and products with the
//! unsigned ones. Operations that find positions share the kernel for the segments' results, which
//! by then are keys and positions; so do `any` and `all` of every dtype. Norms of magnitudes go on
//! as sums and maxima.

use super::{combined, without_sign};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, ReduceOp};

/// Threads run along the sequences.
pub const ROWS: u8 = 0;
/// Threads run across the sequences, whose neighbours are adjacent.
pub const COLUMNS: u8 = 1;
/// Threads run along the sequences of segment results.
pub const SECOND_PASS: u8 = 2;

/// Returns the key of a kernel.
pub fn key(op: ReduceOp, dtype: DType, variant: u8) -> Key {
    let (op, dtype) = carrier(op, dtype, variant);
    Key::new(Family::Reduce, op.index(), &[dtype], variant)
}

/// Returns the operation and dtype whose key a kernel has.
fn carrier(op: ReduceOp, dtype: DType, variant: u8) -> (ReduceOp, DType) {
    match op {
        // Signed and unsigned integers wrap to the same bits.
        ReduceOp::Sum | ReduceOp::Prod => (op, without_sign(dtype)),
        // Magnitudes, of which the values of segments and unsigned integers consist already.
        ReduceOp::L1Norm if variant == SECOND_PASS || dtype.is_unsigned() => (ReduceOp::Sum, without_sign(dtype)),
        ReduceOp::MaxNorm if variant == SECOND_PASS || dtype.is_unsigned() => (ReduceOp::Max, dtype),
        ReduceOp::Any | ReduceOp::All if variant == SECOND_PASS => (op, DType::U8),
        ReduceOp::Any | ReduceOp::All => (op, without_sign(dtype)),
        // For both, the largest key wins, and its position is written.
        ReduceOp::ArgMax | ReduceOp::ArgMin if variant == SECOND_PASS => (ReduceOp::ArgMax, order_key(dtype)),
        _ => (op, dtype),
    }
}

/// Returns the line that includes the functions of an operation, unless every reduction has them.
const fn prelude(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::L1Norm | ReduceOp::L2Norm | ReduceOp::MaxNorm => "#include \"ops/reduce/norms.cuh\"\n",
        ReduceOp::Any | ReduceOp::All => "#include \"ops/reduce/logical.cuh\"\n",
        ReduceOp::LogSumExp => "#include \"ops/reduce/logsumexp.cuh\"\n",
        ReduceOp::Var | ReduceOp::Std => "#include \"ops/reduce/spread.cuh\"\n",
        _ => "",
    }
}

/// Returns the integer type that orders the candidates for a position: `order_key` in ops.cuh, of
/// the type in which values are compared.
const fn order_key(dtype: DType) -> DType {
    match dtype {
        DType::F64 | DType::I64 => DType::I64,
        DType::U32 => DType::U32,
        _ => DType::I32,
    }
}

/// Adds the modules of reductions.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in combined() {
        for &op in ReduceOp::ALL.iter().filter(|op| op.takes(dtype)) {
            let name = format!("reduce_{op}_{dtype}");
            let mut module = Module::new(name, "ops/reduce/reduce.cu").with_prelude(prelude(op));
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

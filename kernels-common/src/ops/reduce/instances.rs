//! Three kernels for each operation and dtype. Each has a module, since a driver compiles all of one at once.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, ReduceOp};

/// Threads go along the sequences.
pub const ROWS: u8 = 0;
/// Threads go across the sequences, whose neighbours lie side by side.
pub const COLUMNS: u8 = 1;
/// Threads go along the sequences of segments' results.
pub const AGAIN: u8 = 2;

/// Adds the modules of reductions.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        let ty = match dtype {
            DType::F32 => "float",
            DType::F64 => "double",
            other => other.as_str(),
        };
        for &op in ReduceOp::ALL.iter().filter(|&&op| op != ReduceOp::Mean || dtype.is_float()) {
            let mut module = Module::new(format!("reduce_{op}_{dtype}"), "ops/reduce/reduce.cu");
            for (variant, name, line) in [
                (ROWS, "rows", "ISOBIT_REDUCE_ROWS"),
                (COLUMNS, "columns", "ISOBIT_REDUCE_COLUMNS"),
                (AGAIN, "again", "ISOBIT_REDUCE_AGAIN"),
            ] {
                let key = Key::new(Family::Reduce, op.index(), &[dtype], variant);
                module.kernel(key, format!("{op}_{dtype}_{name}"), line, &[&format!("{op:?}"), ty]);
            }
            modules.push(module);
        }
    }
}

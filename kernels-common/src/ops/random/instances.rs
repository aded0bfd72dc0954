//! Kernels of Isobit's own generator, and kernels that map the vendor's uniform numbers to an
//! interval. There is one module per dtype, and one for ones and zeros, which are written as bits.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// The dtypes that random numbers support.
pub const DTYPES: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// Draws uniform numbers.
pub const UNIFORM: usize = 0;
/// Draws normal numbers.
pub const NORMAL: usize = 1;
/// Maps the vendor's uniform numbers to an interval.
pub const BETWEEN: usize = 2;
/// Draws ones and zeros, for the dtype that stands for others of its size.
pub const MARKS: usize = 3;
/// Keeps or drops the elements of a source.
pub const DROPOUT: usize = 4;
/// Draws ones and zeros with the probabilities of a source.
pub const PROBS: usize = 5;

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in DTYPES {
        let mut module = Module::new(format!("random_{dtype}"), "ops/random/random.cu");
        let ty = dtype.as_str();
        kernels(&mut module, UNIFORM, dtype, "uniform", "ISOBIT_RANDOM", &["Uniform", ty]);
        kernels(&mut module, NORMAL, dtype, "normal", "ISOBIT_RANDOM", &["Normal", ty]);
        kernels(&mut module, BETWEEN, dtype, "between", "ISOBIT_RANDOM_BETWEEN", &[ty]);
        kernels(&mut module, DROPOUT, dtype, "dropout", "ISOBIT_RANDOM_DROPOUT", &[ty]);
        kernels(&mut module, PROBS, dtype, "bernoulli", "ISOBIT_RANDOM_BERNOULLI", &[ty]);
        modules.push(module);
    }
    let mut marks = Module::new("random_marks", "ops/random/random.cu");
    for (dtype, ty) in [(DType::U8, "u8"), (DType::I16, "u16"), (DType::U32, "u32"), (DType::I64, "u64")] {
        kernels(&mut marks, MARKS, dtype, "marks", "ISOBIT_RANDOM_MARKS", &[ty]);
    }
    modules.push(marks);
}

fn kernels(module: &mut Module, op: usize, dtype: DType, name: &str, call: &str, args: &[&str]) {
    let ty = args.last().expect("the type is an argument");
    for (variant, suffix, macro_suffix) in [(Key::CONTIGUOUS, "", ""), (Key::STRIDED, "_strided", "_STRIDED")] {
        let key = Key::new(Family::Random, op, &[dtype], variant);
        module.kernel(key, format!("random_{name}{suffix}_{ty}"), &format!("{call}{macro_suffix}"), args);
    }
}

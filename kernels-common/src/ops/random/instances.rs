//! Kernels of Isobit's own generator, and kernels that map the vendor's uniform numbers to an
//! interval. There is one module per dtype.

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

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in DTYPES {
        let mut module = Module::new(format!("random_{dtype}"), "ops/random/random.cu");
        let ty = dtype.as_str();
        let mut kernel = |op, name: &str, call: &str, args: &[&str]| {
            for (variant, suffix, macro_suffix) in [(Key::CONTIGUOUS, "", ""), (Key::STRIDED, "_strided", "_STRIDED")] {
                let key = Key::new(Family::Random, op, &[dtype], variant);
                let symbol = format!("random_{name}{suffix}_{ty}");
                module.kernel(key, symbol, &format!("{call}{macro_suffix}"), args);
            }
        };
        kernel(UNIFORM, "uniform", "ISOBIT_RANDOM", &["Uniform", ty]);
        kernel(NORMAL, "normal", "ISOBIT_RANDOM", &["Normal", ty]);
        kernel(BETWEEN, "between", "ISOBIT_RANDOM_BETWEEN", &[ty]);
        modules.push(module);
    }
}

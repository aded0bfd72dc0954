//! Two kernels per element size: a triangle moves bits, whatever their dtype.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// One dtype for each element size.
pub const CARRIERS: [DType; 4] = [DType::U8, DType::I16, DType::U32, DType::I64];

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    let mut module = Module::new("triangle", "ops/triangle/triangle.cu");
    for (dtype, ty) in CARRIERS.into_iter().zip(["u8", "u16", "u32", "u64"]) {
        let width = (16 / dtype.size_in_bytes()).to_string();
        for (variant, name, width) in [(Key::ROWS, "rows", &*width), (Key::STRIDED, "strided", "1")] {
            let key = Key::new(Family::Triangle, 0, &[dtype], variant);
            module.kernel(key, format!("triangle_{name}_{ty}"), "ISOBIT_TRIANGLE", &[ty, width]);
        }
    }
    modules.push(module);
}

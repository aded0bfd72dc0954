//! One kernel per element size: a fill writes bits, whatever their dtype.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Adds the fill module.
pub fn add(modules: &mut Vec<Module>) {
    let mut module = Module::new("fill", "ops/fill/fill.cu");
    for (dtype, ty) in [(DType::U8, "u8"), (DType::I16, "u16"), (DType::U32, "u32"), (DType::I64, "u64")] {
        let key = |variant| Key::new(Family::Fill, 0, &[dtype], variant);
        module.kernel(key(Key::CONTIGUOUS), format!("fill_{ty}"), "ISOBIT_FILL", &[ty]);
        module.kernel(key(Key::STRIDED), format!("fill_strided_{ty}"), "ISOBIT_FILL_STRIDED", &[ty]);
    }
    modules.push(module);
}

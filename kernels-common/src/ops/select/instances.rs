//! Three kernels per dtype of the condition and size of the values: a selection moves bits,
//! whatever their dtype.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for cond in [DType::U8, DType::U32, DType::I64] {
        let mut module = Module::new(format!("where_{cond}"), "ops/select/where_cond.cu");
        for (dtype, ty) in [(DType::U8, "u8"), (DType::I16, "u16"), (DType::U32, "u32"), (DType::I64, "u64")] {
            let key = |variant| Key::new(Family::Select, 0, &[cond, dtype], variant);
            let args = [cond.as_str(), ty];
            module.kernel(key(Key::CONTIGUOUS), format!("where_{cond}_{ty}"), "ISOBIT_WHERE", &args);
            module.kernel(key(Key::ROWS), format!("where_rows_{cond}_{ty}"), "ISOBIT_WHERE_ROWS", &args);
            module.kernel(key(Key::STRIDED), format!("where_strided_{cond}_{ty}"), "ISOBIT_WHERE_STRIDED", &args);
        }
        modules.push(module);
    }
}

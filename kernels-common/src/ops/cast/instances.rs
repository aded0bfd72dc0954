//! Every dtype to every other: a module for each source, and two kernels for each pair. The same
//! dtype is a copy, and integers that differ in their sign alone share the kernels in which it
//! changes no bit.

use super::without_sign;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// The pair under whose key the kernels are. To an integer of its size or less an integer is cut
/// short, to a longer one its own sign decides what is put before it; the sign of what it becomes
/// is never asked for.
pub fn carriers(from: DType, to: DType) -> (DType, DType) {
    if !from.is_int() || !to.is_int() {
        return (from, to);
    }
    let cut = to.size_in_bytes() <= from.size_in_bytes();
    match (if cut { without_sign(from) } else { from }, without_sign(to)) {
        // The same dtype has no kernels.
        (DType::U8, DType::U8) => (DType::I8, DType::U8),
        (DType::U32, DType::U32) => (DType::I32, DType::U32),
        pair => pair,
    }
}

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &from in DType::ALL {
        let mut module = Module::new(format!("cast_{from}"), "ops/cast/cast.cu");
        for &to in DType::ALL.iter().filter(|&&to| to != from && carriers(from, to) == (from, to)) {
            let key = |variant| Key::new(Family::Cast, 0, &[from, to], variant);
            let types = [from.as_str(), to.as_str()];
            module.kernel(key(Key::CONTIGUOUS), format!("cast_{from}_{to}"), "ISOBIT_CAST", &types);
            module.kernel(key(Key::STRIDED), format!("cast_strided_{from}_{to}"), "ISOBIT_CAST_STRIDED", &types);
        }
        modules.push(module);
    }
}

//! Casts from every dtype to every other: one module per source dtype, two kernels per pair. A cast
//! to the same dtype is a copy. Signed and unsigned integers share a kernel if the sign changes no
//! bit of the result. Casts to a float of 8 bits have two more for the rule of overflow that the
//! dtype does not have by itself.

use super::without_sign;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// The operations' numbers in keys: casts with the rule of overflow that the target has by itself,
/// and with the other one.
pub const OWN_RULE: usize = 0;
/// See [`OWN_RULE`].
pub const OTHER_RULE: usize = 1;

/// Returns the pair whose key the kernels have. An integer cast to its own size or less is
/// truncated; cast to a larger size, its own sign decides how it is extended. The signedness of the
/// target never matters.
pub fn carriers(from: DType, to: DType) -> (DType, DType) {
    if !from.is_int() || !to.is_int() {
        return (from, to);
    }
    let cut = to.size_in_bytes() <= from.size_in_bytes();
    match (if cut { without_sign(from) } else { from }, without_sign(to)) {
        // Casts to the same dtype have no kernels.
        (DType::U8, DType::U8) => (DType::I8, DType::U8),
        (DType::U32, DType::U32) => (DType::I32, DType::U32),
        (DType::I16, DType::I16) => (DType::U16, DType::I16),
        (DType::I64, DType::I64) => (DType::U64, DType::I64),
        pair => pair,
    }
}

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &from in DType::ALL {
        let mut module = Module::new(format!("cast_{from}"), "ops/cast/cast.cu");
        for &to in DType::ALL.iter().filter(|&&to| to != from && carriers(from, to) == (from, to)) {
            let key = |variant| Key::new(Family::Cast, OWN_RULE, &[from, to], variant);
            let types = [from.as_str(), to.as_str()];
            module.kernel(key(Key::CONTIGUOUS), format!("cast_{from}_{to}"), "ISOBIT_CAST", &types);
            module.kernel(key(Key::STRIDED), format!("cast_strided_{from}_{to}"), "ISOBIT_CAST_STRIDED", &types);
        }
        for &to in DType::ALL.iter().filter(|&&to| to != from && to.is_f8()) {
            let key = |variant| Key::new(Family::Cast, OTHER_RULE, &[from, to], variant);
            let types = [from.as_str(), to.as_str()];
            module.kernel(key(Key::CONTIGUOUS), format!("cast_other_{from}_{to}"), "ISOBIT_CAST_OTHER", &types);
            let symbol = format!("cast_other_strided_{from}_{to}");
            module.kernel(key(Key::STRIDED), symbol, "ISOBIT_CAST_OTHER_STRIDED", &types);
        }
        modules.push(module);
    }
}

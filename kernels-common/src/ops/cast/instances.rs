//! Every dtype to every other: a module for each source, and two kernels for each pair. The same dtype is a copy.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &from in DType::ALL {
        let mut module = Module::new(format!("cast_{from}"), "ops/cast/cast.cu");
        for &to in DType::ALL.iter().filter(|&&to| to != from) {
            let key = |variant| Key::new(Family::Cast, 0, &[from, to], variant);
            let types = [from.as_str(), to.as_str()];
            module.kernel(key(Key::CONTIGUOUS), format!("cast_{from}_{to}"), "ISOBIT_CAST", &types);
            module.kernel(key(Key::STRIDED), format!("cast_strided_{from}_{to}"), "ISOBIT_CAST_STRIDED", &types);
        }
        modules.push(module);
    }
}

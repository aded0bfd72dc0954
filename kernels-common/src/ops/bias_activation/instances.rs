//! Three kernels per function and float dtype: for dense operands, for rows and repeated elements,
//! and for any layout.

use super::{combined_floats, recipes};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::Activation;

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in combined_floats() {
        for &op in Activation::ALL {
            let mut module = Module::new(format!("add_{op}_{dtype}"), "ops/bias_activation/bias_activation.cu")
                .with_prelude(recipes(dtype));
            let key = |variant| Key::new(Family::BiasActivation, op.index(), &[dtype], variant);
            let args = [op.name(), dtype.as_str()];
            let name = |variant: &str| format!("add_{op}{variant}_{dtype}");
            module.kernel(key(Key::CONTIGUOUS), name(""), "ISOBIT_ACTIVATION", &args);
            module.kernel(key(Key::ROWS), name("_rows"), "ISOBIT_ACTIVATION_ROWS", &args);
            module.kernel(key(Key::STRIDED), name("_strided"), "ISOBIT_ACTIVATION_STRIDED", &args);
            modules.push(module);
        }
    }
}

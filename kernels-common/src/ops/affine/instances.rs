//! The kernels of the family.

use crate::manifest::Module;

/// Adds the family's modules.
pub fn add(_modules: &mut Vec<Module>) {}

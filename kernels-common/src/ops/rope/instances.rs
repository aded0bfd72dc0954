//! Three kernels per float dtype: one pair at a time, and packs of pairs whose elements are in
//! halves or adjacent.

use super::combined_floats;
use crate::key::{Family, Key};
use crate::manifest::Module;

/// One pair at a time, in any layout.
pub const PAIRS: u8 = 0;
/// Packs; one pack holds the first elements of the pairs, another the second ones.
pub const HALVES: u8 = 1;
/// Packs of pairs whose elements are adjacent.
pub const INTERLEAVED: u8 = 2;

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in combined_floats() {
        let mut module = Module::new(format!("rope_{dtype}"), "ops/rope/rope.cu");
        let width = (16 / dtype.size_in_bytes()).to_string();
        for (variant, name, width, interleaved) in
            [(PAIRS, "pairs", "1", "false"), (HALVES, "halves", &width, "false"), (INTERLEAVED, "side", &width, "true")]
        {
            let key = Key::new(Family::Rope, 0, &[dtype], variant);
            let args = [dtype.as_str(), width, interleaved];
            module.kernel(key, format!("rope_{name}_{dtype}"), "ISOBIT_ROPE", &args);
        }
        modules.push(module);
    }
}

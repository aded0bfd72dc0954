//! The tables of all instructions.

use isobit_simgpu_nvidia::lower::tables;
use std::collections::HashSet;

#[test]
fn no_opcode_is_in_two_tables() {
    let mut seen = HashSet::new();
    for (opcode, _) in tables().flatten() {
        assert!(seen.insert(opcode), "{opcode}");
    }
}

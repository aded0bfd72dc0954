//! The tables of all instructions.

use super::{Lowering, Table};
use crate::exec::{PRINT_TABLE, alloca, alu, call, control, cross, memory};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Returns all tables.
#[doc(hidden)]
pub fn tables() -> impl Iterator<Item = Table> {
    [&[control::TABLE, PRINT_TABLE, call::TABLE, alloca::TABLE][..], alu::TABLES, memory::TABLES, cross::TABLES]
        .into_iter()
        .flatten()
        .copied()
}

/// Returns the lowering of an opcode.
pub fn lowering(opcode: &str) -> Option<Lowering> {
    static JOINED: OnceLock<HashMap<&str, Lowering>> = OnceLock::new();
    JOINED.get_or_init(|| tables().flatten().copied().collect()).get(opcode).copied()
}

//! The opcode tables, and the lookup of rows.

#[rustfmt::skip]
mod gfx11;
#[rustfmt::skip]
mod gfx9;
mod row;

use crate::isa::inst::{Arch, Encoding};
pub(crate) use row::{A, B, C, Class, D, Field, Form, H, I, L, On, P, Role, Row, S, Slot, T, V, W};

impl On {
    fn has(self, arch: Arch) -> bool {
        match self {
            Self::All => true,
            Self::Gfx90a => arch == Arch::Gfx90a,
            Self::Gfx942 => arch == Arch::Gfx942,
        }
    }
}

fn table(arch: Arch) -> &'static [Row] {
    if arch.is_gfx9() { gfx9::ROWS } else { gfx11::ROWS }
}

/// Returns the rows of a target.
pub(crate) fn rows(arch: Arch) -> impl Iterator<Item = &'static Row> {
    table(arch).iter().filter(move |row| row.on.has(arch))
}

/// Returns the row of an opcode.
pub(crate) fn find(arch: Arch, encoding: Encoding, form: Form, opcode: u16) -> Option<&'static Row> {
    let rows = table(arch);
    let key = (encoding as u8, form, opcode);
    let of = |row: &Row| (row.encoding as u8, row.form, row.opcode);
    let first = rows.partition_point(|row| of(row) < key);
    rows[first..].iter().take_while(|row| of(row) == key).find(|row| row.on.has(arch))
}

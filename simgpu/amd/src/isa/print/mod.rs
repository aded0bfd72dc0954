//! Instructions as text in LLVM's syntax, for findings and for the comparison with LLVM's
//! disassembler.

mod modifiers;
mod names;
mod numbers;
mod operand;

use super::inst::{Arch, Encoding, Inst, Operand};
use super::table::{self, Class, Field, Role, Row, Slot};
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::sync::LazyLock;

impl Inst {
    /// Returns the instruction as LLVM's disassembler writes it. As in LLVM, a branch has its
    /// offset in instruction words.
    pub fn display(&self, arch: Arch) -> impl Display + '_ {
        Text { inst: self, arch }
    }
}

struct Text<'a> {
    inst: &'a Inst,
    arch: Arch,
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let halves = std::iter::once(self.inst).chain(self.inst.second.as_deref());
        // Both halves of a VOPD share one literal. If one half is a multiplication by the literal,
        // LLVM writes the literal as a 32-bit float in the other half.
        let is_shared =
            self.inst.second.is_some() && halves.clone().any(|half| matches!(half.name, "v_fmaak_f32" | "v_fmamk_f32"));
        let class = if is_shared { !table::P } else { !0 };
        for (place, half) in halves.enumerate() {
            f.write_str(if place == 0 { "" } else { " :: " })?;
            one(f, half, self.arch, class)?;
        }
        Ok(())
    }
}

type Rows = HashMap<(Encoding, &'static str), &'static Row>;

/// Returns the row from which an instruction was decoded. Forms with the same mnemonic have the
/// same syntax.
fn row(arch: Arch, inst: &Inst) -> Option<&'static Row> {
    static ROWS: LazyLock<[Rows; 3]> = LazyLock::new(|| {
        Arch::ALL.map(|arch| table::rows(arch).map(|row| ((row.encoding, row.mnemonic), row)).collect())
    });
    ROWS[arch as usize].get(&(inst.encoding, inst.mnemonic)).copied()
}

/// Writes one instruction; `class` determines how a literal is written.
fn one(f: &mut Formatter<'_>, inst: &Inst, arch: Arch, class: Class) -> fmt::Result {
    f.write_str(inst.mnemonic)?;
    let Some(row) = row(arch, inst) else {
        return f.write_str(" (of another target)");
    };
    let mut separator = " ";
    for (place, slot) in row.slots.iter().enumerate().filter(|(_, slot)| slot.shown) {
        let text = shown(inst, arch, row, place == 0, &Slot { class: slot.class & class, ..*slot });
        if !text.is_empty() {
            write!(f, "{separator}{text}")?;
            separator = ", ";
        }
    }
    modifiers::write(f, inst, arch, row)
}

/// Returns the text of a slot; empty if this instruction does not have it.
fn shown(inst: &Inst, arch: Arch, row: &Row, first: bool, slot: &Slot) -> String {
    let half = |place: u8| if slot.class & table::H != 0 { Some(inst.op_sel >> place & 1 == 1) } else { None };
    match slot.role {
        Role::Dest | Role::Old if inst.dst == Operand::None => String::new(),
        Role::Dest | Role::Old => operand::text(arch, inst.dst, inst.dst_dwords, half(3)),
        Role::Flag => operand::text(arch, inst.sdst, slot.dwords, None),
        Role::Source(place) => {
            let operand = inst.src[usize::from(place)];
            if operand == Operand::None {
                return "off".into();
            }
            let text = match operand {
                // The literal of instructions like v_fmaak is never written as a float.
                Operand::Literal(value) if slot.field == Field::Literal && inst.encoding != Encoding::Sopk => {
                    format!("{value:#x}")
                }
                Operand::Literal(value) => operand::literal(value, slot.class, inst.src_dwords[usize::from(place)]),
                Operand::Inline(code) if slot.class & table::I != 0 => operand::inline16(code),
                // A constant of a packed instruction is a half, written once.
                Operand::Inline(_) if inst.encoding == Encoding::Vop3p => operand::text(arch, operand, 1, None),
                other => operand::text(arch, other, inst.src_dwords[usize::from(place)], half(place)),
            };
            modifiers::around(inst, place, operand, text)
        }
        Role::Other if slot.field == Field::Imm => numbers::text(inst, arch, row, first),
        Role::Other => String::new(),
    }
}

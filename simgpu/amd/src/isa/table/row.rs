//! What a row of the opcode tables says, and the words in which the generated tables are written.

use crate::isa::inst::Encoding;

/// The targets of a row: those of its table, or one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// All of the table.
    All,
    /// gfx90a alone.
    Gfx90a,
    /// gfx942 alone.
    Gfx942,
}

/// Which words an instruction of an encoding has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// The encoding alone, or with a literal.
    Plain,
    /// A word of sub-dword selections follows.
    Sdwa,
    /// A word of a DPP16 permutation follows.
    Dpp16,
    /// A word of a DPP8 permutation follows.
    Dpp8,
    /// The first half of a VOPD.
    X,
    /// The second half of a VOPD.
    Y,
}

/// What an operand is to its instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The destination.
    Dest,
    /// The destination of an atomic that returns the old value.
    Old,
    /// The second, scalar destination.
    Flag,
    /// The source of this place in `Inst::src`.
    Source(u8),
    /// Nothing in `Inst`'s operands: a number of its own.
    Other,
}

/// Which bits an operand is read from. The decoder of each encoding knows the places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Vdst,
    Sdst,
    Src0,
    Src1,
    Src2,
    Addr,
    Data0,
    Data1,
    Saddr,
    Sbase,
    Soffset,
    Srsrc,
    /// The literal of `v_fmaak` and its kind.
    Literal,
    /// VCC, implied.
    Vcc,
    /// EXEC, implied.
    Exec,
    /// The constant of SOPK and SOPP, the offset of SMEM, the index mode or message of SOPC and
    /// SOP1.
    Imm,
    /// The second offset of a DS instruction.
    Offset1,
}

/// What a field may hold, a bit each.
pub(crate) type Class = u16;
/// A vector register.
pub(crate) const V: Class = 1;
/// A scalar register.
pub(crate) const S: Class = 2;
/// An inline constant.
pub(crate) const C: Class = 4;
/// A literal.
pub(crate) const L: Class = 8;
/// An accumulation register.
pub(crate) const A: Class = 16;
/// A vector register below 128: the bit above would select a half, for which LLVM's gfx1100 has no
/// syntax.
pub(crate) const W: Class = 32;
/// Half of a vector register below 128, by the bit above.
pub(crate) const H: Class = 64;

/// A literal of 16 bits.
pub(crate) const T: Class = 128;
/// An integer of 16 bits: LLVM writes a float constant as its bits.
pub(crate) const I: Class = 256;
/// A literal that is the high half of a double.
pub(crate) const D: Class = 512;
/// A literal that is a pair of floats of 16 bits.
pub(crate) const P: Class = 1024;
/// A literal that is a pair of bfloat16.
pub(crate) const B: Class = 2048;

/// An operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// What it is.
    pub(crate) role: Role,
    /// Where it is read from.
    pub(crate) field: Field,
    /// What it may be.
    pub(crate) class: Class,
    /// Its registers of 32 bits.
    pub(crate) dwords: u8,
    /// False where LLVM's syntax does not name it.
    pub(crate) shown: bool,
}

/// An opcode.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) on: On,
    pub(crate) encoding: Encoding,
    pub(crate) form: Form,
    pub(crate) opcode: u16,
    /// LLVM's mnemonic.
    pub(crate) mnemonic: &'static str,
    /// The canonical name.
    pub(crate) name: &'static str,
    /// The operands in the order of LLVM's syntax.
    pub(crate) slots: &'static [Slot],
    /// Bits that must be as `value` has them.
    pub(crate) fixed: u128,
    /// Their values.
    pub(crate) value: u128,
    /// Bits that mean nothing.
    pub(crate) ignored: u128,
}

pub(super) use Encoding::*;
pub(super) use Field::*;
pub(super) use Form::*;
pub(super) use Role::{Dest, Old, Source};

pub(super) const ALL: On = On::All;
pub(super) const GFX90A: On = On::Gfx90a;
pub(super) const GFX942: On = On::Gfx942;

pub(super) const fn dst(field: Field, class: Class, dwords: u8) -> Slot {
    Slot { role: Dest, field, class, dwords, shown: true }
}

pub(super) const fn old(field: Field, class: Class, dwords: u8) -> Slot {
    Slot { role: Old, field, class, dwords, shown: true }
}

pub(super) const fn sdst(field: Field, class: Class, dwords: u8) -> Slot {
    Slot { role: Role::Flag, field, class, dwords, shown: true }
}

pub(super) const fn src(place: u8, field: Field, class: Class, dwords: u8) -> Slot {
    Slot { role: Source(place), field, class, dwords, shown: true }
}

pub(super) const fn other(field: Field) -> Slot {
    Slot { role: Role::Other, field, class: 0, dwords: 0, shown: true }
}

pub(super) const fn hidden(role: Role, field: Field, class: Class, dwords: u8) -> Slot {
    Slot { role, field, class, dwords, shown: false }
}

#[expect(clippy::too_many_arguments, reason = "a row of a table")]
pub(super) const fn row(
    on: On,
    encoding: Encoding,
    form: Form,
    opcode: u16,
    mnemonic: &'static str,
    name: &'static str,
    slots: &'static [Slot],
    fixed: u128,
    value: u128,
    ignored: u128,
) -> Row {
    Row { on, encoding, form, opcode, mnemonic, name, slots, fixed, value, ignored }
}

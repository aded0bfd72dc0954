//! The contents of the opcode tables' rows, and the constructors with which the generated tables
//! are written.

use crate::isa::inst::Encoding;

/// The targets of a row: all targets of its table, or one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// All targets of the table.
    All,
    /// Only gfx90a.
    Gfx90a,
    /// Only gfx942.
    Gfx942,
}

/// The words of an instruction of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// The encoding only, or with a literal.
    Plain,
    /// Followed by a word of sub-dword selections.
    Sdwa,
    /// Followed by a word of a DPP16 permutation.
    Dpp16,
    /// Followed by a word of a DPP8 permutation.
    Dpp8,
    /// The first half of a VOPD.
    X,
    /// The second half of a VOPD.
    Y,
}

/// The role of an operand in its instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The destination.
    Dest,
    /// The destination of an atomic that returns the old value.
    Old,
    /// The second, scalar destination.
    Flag,
    /// The source at this index of `Inst::src`.
    Source(u8),
    /// Not one of `Inst`'s operands: a separate number.
    Other,
}

/// The bits from which an operand is read. The decoder of each encoding knows their positions.
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
    /// The literal of instructions like `v_fmaak`.
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

/// What a field may contain, one bit each.
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
/// A vector register below 128. The bit above its number would select a half, for which LLVM's
/// gfx1100 has no syntax.
pub(crate) const W: Class = 32;
/// Half of a vector register below 128, selected by the bit above its number.
pub(crate) const H: Class = 64;

/// A 16-bit literal.
pub(crate) const T: Class = 128;
/// A 16-bit integer: LLVM writes a float constant as its bits.
pub(crate) const I: Class = 256;
/// A literal that is the high half of a double.
pub(crate) const D: Class = 512;
/// A literal that is a pair of 16-bit floats.
pub(crate) const P: Class = 1024;
/// A literal that is a pair of bfloat16.
pub(crate) const B: Class = 2048;

/// An operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Its role.
    pub(crate) role: Role,
    /// The field from which it is read.
    pub(crate) field: Field,
    /// The operands that it allows.
    pub(crate) class: Class,
    /// The number of 32-bit registers.
    pub(crate) dwords: u8,
    /// Whether LLVM's syntax shows it.
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
    /// A mask of the bits that must equal `value`.
    pub(crate) fixed: u128,
    /// The values of the fixed bits.
    pub(crate) value: u128,
    /// A mask of the bits without a meaning.
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

//! Addresses, offsets and cache policies of the vector memory encodings.

use super::{Failure, code::Code, operand};
use crate::isa::inst::{Arch, Cache, Encoding, Inst, Operand};
use crate::isa::table::{Field, Slot};

/// DS: reads the offsets and the GDS flag.
pub(super) fn share(code: &Code, inst: &mut Inst) {
    if code.row().slots.iter().any(|slot| slot.field == Field::Offset1) {
        inst.imm = code.field(0, 8) as i32;
        inst.imm1 = code.field(8, 8) as i32;
    } else {
        inst.imm = code.field(0, 16) as i32;
    }
    inst.lds = code.bit(if code.arch().is_gfx9() { 16 } else { 17 });
}

/// FLAT, GLOBAL and SCRATCH: reads the offset and the cache policy.
pub(super) fn flat(code: &Code, inst: &mut Inst) -> Result<(), Failure> {
    inst.imm = if inst.encoding == Encoding::Flat { code.field(0, 12) as i32 } else { code.signed(0, 13) };
    inst.cache = if code.arch().is_gfx9() {
        Cache { glc: code.bit(16), slc: code.bit(17), dlc: code.bit(25) }
    } else {
        Cache { glc: code.bit(14), slc: code.bit(15), dlc: code.bit(13) }
    };
    inst.lds = code.arch() == Arch::Gfx90a && code.bit(13);
    if inst.lds && code.bit(55) {
        return Err(format!("{} has lds and an accumulation register", inst.mnemonic));
    }
    Ok(())
}

/// Whether a scratch access has an address register.
fn has_address(code: &Code) -> bool {
    match code.arch() {
        Arch::Gfx90a => scalar_address(code).is_none(),
        Arch::Gfx942 => code.bit(13),
        Arch::Gfx1100 => code.bit(55),
    }
}

/// Returns the code of the scalar address, unless it is off.
fn scalar_address(code: &Code) -> Option<u32> {
    let off = if code.arch().is_gfx9() { 0x7f } else { 0x7c };
    Some(code.field(48, 7)).filter(|value| *value != off)
}

/// Reads an operand of DS, FLAT, GLOBAL or SCRATCH.
pub(super) fn operand(code: &Code, slot: &Slot) -> Result<(Operand, u8), Failure> {
    let encoding = code.row().encoding;
    let accumulation = code.arch().is_gfx9() && code.bit(if encoding == Encoding::Ds { 25 } else { 55 });
    let data = |low| match operand::vector(code, low) {
        Operand::Vgpr(number) if accumulation => Operand::Vgpr(number + 256),
        other => other,
    };
    Ok(match slot.field {
        Field::Addr if encoding == Encoding::Scratch && !has_address(code) => (Operand::None, 0),
        Field::Addr if encoding == Encoding::Global && scalar_address(code).is_some() => (operand::vector(code, 32), 1),
        Field::Addr => (operand::vector(code, 32), slot.dwords),
        Field::Saddr => match scalar_address(code) {
            None => (Operand::None, 0),
            Some(value) => (operand::scalar(code.arch(), value)?, slot.dwords),
        },
        Field::Data0 => (data(40), slot.dwords),
        Field::Data1 => (data(48), slot.dwords),
        _ => (data(56), slot.dwords),
    })
}

/// MUBUF: reads the offset, the address mode and the cache policy.
pub(super) fn buffer(code: &Code, inst: &mut Inst) -> Result<(), Failure> {
    inst.imm = code.field(0, 12) as i32;
    if code.arch().is_gfx9() {
        inst.offen = code.bit(12);
        inst.idxen = code.bit(13);
        inst.cache = Cache { glc: code.bit(14), slc: code.bit(17), dlc: code.bit(15) };
        inst.lds = code.bit(16);
        if inst.lds && code.bit(55) {
            return Err(format!("{} has lds and an accumulation register", inst.mnemonic));
        }
    } else {
        inst.offen = code.bit(54);
        inst.idxen = code.bit(55);
        inst.cache = Cache { glc: code.bit(14), slc: code.bit(12), dlc: code.bit(13) };
        if code.bit(53) {
            return Err(format!("{} has tfe, which is not decoded", inst.mnemonic));
        }
    }
    Ok(())
}

/// Reads an operand of MUBUF.
pub(super) fn buffer_operand(code: &mut Code, slot: &Slot, inst: &Inst) -> Result<(Operand, u8), Failure> {
    Ok(match slot.field {
        Field::Addr => match u8::from(inst.offen) + u8::from(inst.idxen) {
            0 => (Operand::None, 0),
            dwords => (operand::vector(code, 32), dwords),
        },
        Field::Srsrc => (operand::scalar(code.arch(), code.field(48, 5) * 4)?, slot.dwords),
        Field::Soffset => (operand::source(code, 56, 8)?, slot.dwords),
        _ => match operand::vector(code, 40) {
            Operand::Vgpr(number) if code.arch().is_gfx9() && code.bit(55) => {
                (Operand::Vgpr(number + 256), slot.dwords)
            }
            other => (other, slot.dwords),
        },
    })
}

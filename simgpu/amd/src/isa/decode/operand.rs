//! Operands: the codes of scalar and vector sources, and the fields that contain them.

use super::{Failure, code::Code};
use crate::isa::inst::{Arch, Encoding, Inst, Operand, sreg};
use crate::isa::table::{A, C, Field, Form, H, L, S, Slot, V, W};

/// Returns the operand of a slot and its number of 32-bit registers. The modifiers of `inst` that
/// determine the address mode must already be read.
pub(super) fn read(code: &mut Code, slot: &Slot, inst: &mut Inst) -> Result<(Operand, u8), Failure> {
    if super::matrix::is(code.row()) {
        let operand = super::matrix::operand(code, slot)?;
        check(code, slot, operand, slot.dwords)?;
        return Ok((operand, slot.dwords));
    }
    let (operand, dwords) = raw(code, slot, inst)?;
    let operand = match operand {
        Operand::Vgpr(number) if slot.class & A != 0 && number < 256 => Operand::Vgpr(number + 256),
        Operand::Vgpr(number) if slot.class & H != 0 && code.row().encoding != Encoding::Vop3 => {
            // Bit 7 selects a half; store it in op_sel, as VOP3 does.
            let place = if matches!(slot.field, Field::Vdst) { 3 } else { 0 };
            inst.op_sel |= ((number >> 7) as u8) << place;
            Operand::Vgpr(number & 0x7f)
        }
        other => other,
    };
    check(code, slot, operand, dwords)?;
    Ok((operand, dwords))
}

fn raw(code: &mut Code, slot: &Slot, inst: &Inst) -> Result<(Operand, u8), Failure> {
    use Encoding::{
        Ds, Flat, Global, Mubuf, Scratch, Smem, Sop1, Sop2, Sopc, Sopk, Vop1, Vop2, Vop3, Vop3p, Vopc, Vopd,
    };
    let row = code.row();
    let dpp = matches!(row.form, Form::Dpp16 | Form::Dpp8);
    let register =
        |low| if slot.class & S != 0 { scalar(code.arch(), code.field(low, 8)) } else { Ok(vector(code, low)) };
    let operand = match (slot.field, row.encoding) {
        (Field::Vcc, _) => Operand::Sgpr(sreg::VCC_LO),
        (Field::Exec, _) => Operand::Sgpr(sreg::EXEC_LO),
        (Field::Literal, _) => Operand::Literal(code.literal()?),

        (Field::Sdst, Sop2 | Sopk | Sop1) => scalar(code.arch(), code.field(16, 7))?,
        (Field::Src0, Sop2 | Sop1 | Sopc) => source(code, 0, 8)?,
        (Field::Src1, Sop2 | Sopc) => source(code, 8, 8)?,

        (Field::Sdst, Smem) => scalar(code.arch(), code.field(6, 7))?,
        (Field::Sbase, Smem) => scalar(code.arch(), code.field(0, 6) * 2)?,
        (Field::Soffset, Smem) => super::scalar::offset_register(code)?,

        (Field::Vdst, Vop1 | Vop2) => register(17)?,
        (Field::Src0, Vop1 | Vop2 | Vopc) if dpp => vector(code, 32),
        (Field::Src0, Vop1 | Vop2 | Vopc) if row.form == Form::Sdwa => lane(code, 32, 55)?,
        (Field::Src1, Vop2 | Vopc) if row.form == Form::Sdwa => lane(code, 9, 63)?,
        (Field::Sdst, Vopc) if code.bit(47) => scalar(code.arch(), code.field(40, 7))?,
        (Field::Sdst, Vopc) => Operand::Sgpr(sreg::VCC_LO),
        (Field::Src0, Vop1 | Vop2 | Vopc) => source(code, 0, 9)?,
        (Field::Src1, Vop2 | Vopc) => vector(code, 9),

        (Field::Vdst, Vop3 | Vop3p) => register(0)?,
        (Field::Sdst, Vop3) => scalar(code.arch(), code.field(8, 7))?,
        (Field::Src0, Vop3 | Vop3p) if dpp => vector(code, 64),
        (Field::Src0, Vop3 | Vop3p) => source(code, 32, 9)?,
        (Field::Src1, Vop3 | Vop3p) => source(code, 41, 9)?,
        (Field::Src2, Vop3 | Vop3p) => source(code, 50, 9)?,

        (field, Vopd) => super::dual::operand(code, field)?,

        (Field::Addr | Field::Data0 | Field::Data1 | Field::Vdst | Field::Saddr, Ds | Flat | Global | Scratch) => {
            return super::memory::operand(code, slot);
        }
        (Field::Addr | Field::Vdst | Field::Srsrc | Field::Soffset, Mubuf) => {
            return super::memory::buffer_operand(code, slot, inst);
        }
        (field, encoding) => {
            return Err(format!("{} has an operand {field:?} that {encoding:?} has no bits for", row.mnemonic));
        }
    };
    Ok((operand, if operand == Operand::None { 0 } else { slot.dwords }))
}

/// Returns the vector register of an 8-bit field.
pub(super) fn vector(code: &Code, low: u32) -> Operand {
    Operand::Vgpr(code.field(low, 8) as u16)
}

/// Returns a source of SDWA: a vector register, or a scalar one if the bit `is_scalar` is set.
fn lane(code: &mut Code, low: u32, is_scalar: u32) -> Result<Operand, Failure> {
    if code.bit(is_scalar) { source(code, low, 8) } else { Ok(vector(code, low)) }
}

/// Returns a source of 8 or 9 bits: a register, constant or literal.
pub(super) fn source(code: &mut Code, low: u32, width: u32) -> Result<Operand, Failure> {
    let value = code.field(low, width);
    Ok(match value {
        128..=208 | 240..=248 => Operand::Inline(value as u8),
        235 => Operand::SharedBase,
        236 => Operand::SharedLimit,
        237 => Operand::PrivateBase,
        238 => Operand::PrivateLimit,
        251 => Operand::Vccz,
        252 => Operand::Execz,
        253 => Operand::Scc,
        255 => Operand::Literal(code.literal()?),
        256.. => Operand::Vgpr((value - 256) as u16),
        _ => scalar(code.arch(), value)?,
    })
}

/// Returns a scalar register by its code.
pub(super) fn scalar(arch: Arch, value: u32) -> Result<Operand, Failure> {
    let place = match (value, arch.is_gfx9()) {
        (124, false) => sreg::NULL,
        (125, false) => sreg::M0,
        (124, true) => sreg::M0,
        (0..=123 | 126 | 127, _) => value as u8,
        (239, _) => return Err("the operand pops_exiting_wave_id (code 239) is not decoded".into()),
        (254, _) => return Err("the operand lds_direct (code 254) is not decoded".into()),
        _ => return Err(format!("{value} is not the code of a scalar operand of {}", arch.name())),
    };
    Ok(Operand::Sgpr(place))
}

/// Checks that the slot allows the operand and that its registers exist.
fn check(code: &Code, slot: &Slot, operand: Operand, dwords: u8) -> Result<(), Failure> {
    let wanted = match operand {
        Operand::None => return Ok(()),
        Operand::Vgpr(_) => V | A | W | H,
        Operand::Inline(_) => C,
        Operand::Literal(_) => L,
        _ => S,
    };
    let name = code.row().mnemonic;
    if slot.class & wanted == 0 {
        return Err(format!("{name} cannot have {operand:?} as operand {:?}", slot.field));
    }
    let forbidden = match (code.row().encoding, slot.field, operand) {
        (Encoding::Smem, Field::Sdst, Operand::Sgpr(place)) => {
            matches!(place, sreg::M0 | sreg::EXEC_LO | sreg::EXEC_HI)
        }
        (Encoding::Scratch, Field::Saddr, Operand::Sgpr(sreg::EXEC_HI)) => true,
        // The lane mask that a carry or a selection reads.
        (Encoding::Vop3, Field::Src2, Operand::Sgpr(sreg::EXEC_LO | sreg::EXEC_HI)) => slot.class == S,
        _ => false,
    };
    if forbidden {
        return Err(format!("{name} cannot have the scalar register {operand:?} as operand {:?}", slot.field));
    }
    match operand {
        Operand::Vgpr(number @ 128..) if slot.class & W != 0 => Err(format!(
            "{name} has v{number} as a 16-bit operand: halves of registers are not decoded for {}",
            code.arch().name()
        )),
        Operand::Vgpr(number) if number % 256 + u16::from(dwords) > 256 => {
            Err(format!("{name} has {dwords} registers from {number}, which end after the last one"))
        }
        Operand::Sgpr(sreg::M0) if dwords > 1 => Err(format!("{name} has M0 as an operand of {dwords} registers")),
        Operand::Sgpr(sreg::NULL) => Ok(()),
        Operand::Sgpr(place) => {
            let alignment = match dwords {
                0 | 1 => 1,
                2 => 2,
                _ => 4,
            };
            let group = match place {
                0..sreg::VCC_LO => sreg::VCC_LO,
                sreg::VCC_LO | sreg::VCC_HI => sreg::TTMP0,
                sreg::TTMP0..sreg::M0 => sreg::M0,
                _ => 128,
            };
            if place % alignment != 0 {
                Err(format!(
                    "{name} has {dwords} scalar registers from {place}: they must start at a multiple of {alignment}"
                ))
            } else if u16::from(place) + u16::from(dwords) > u16::from(group) {
                Err(format!("{name} has {dwords} scalar registers from {place}, which end after the last one"))
            } else {
                Ok(())
            }
        }
        _ => Ok(()),
    }
}

//! Modifiers of the vector encodings.

use super::{Failure, code::Code, dpp};
use crate::isa::inst::{Encoding, Inst, Sdwa, Select, Unused};
use crate::isa::table::{Field, Form};

/// Reads the modifiers of the sources and the result.
pub(super) fn modifiers(code: &Code, inst: &mut Inst) -> Result<(), Failure> {
    match inst.encoding {
        Encoding::Vop3 => {
            // VOP3B has its second destination in the bits where VOP3A has abs and op_sel.
            if !code.row().slots.iter().any(|slot| slot.field == Field::Sdst) {
                inst.abs = code.field(8, 3) as u8;
                inst.op_sel = code.field(11, 4) as u8;
            }
            inst.clamp = code.bit(15);
            inst.omod = code.field(59, 2) as u8;
            inst.neg = code.field(61, 3) as u8;
        }
        Encoding::Vop3p => {
            inst.neg_hi = code.field(8, 3) as u8;
            inst.op_sel = code.field(11, 3) as u8;
            inst.op_sel_hi = (code.field(59, 2) | code.field(14, 1) << 2) as u8;
            inst.clamp = code.bit(15);
            inst.neg = code.field(61, 3) as u8;
        }
        _ => {}
    }
    match code.row().form {
        Form::Sdwa => sdwa(code, inst)?,
        Form::Dpp16 | Form::Dpp8 => dpp::permutation(code, inst)?,
        Form::Plain | Form::X | Form::Y => {}
    }
    Ok(())
}

fn sdwa(code: &Code, inst: &mut Inst) -> Result<(), Failure> {
    let has = |field| code.row().slots.iter().any(|slot| slot.field == field);
    let source = |low: u32, field| -> Result<(Select, bool), Failure> {
        if has(field) { Ok((select(code, low)?, code.bit(low + 3))) } else { Ok((Select::Dword, false)) }
    };
    // Comparisons and the conversions from 8-bit floats do not select part of a destination.
    let dst = if inst.encoding == Encoding::Vopc || !has(Field::Vdst) || code.row().fixed >> 40 & 1 == 1 {
        None
    } else {
        let unused = match code.field(43, 2) {
            0 => Unused::Pad,
            1 => Unused::Sext,
            2 => Unused::Preserve,
            _ => return Err(format!("{} has the reserved dst_unused 3", inst.mnemonic)),
        };
        Some((select(code, 40)?, unused))
    };
    inst.sdwa = Some(Sdwa { dst, src: [source(48, Field::Src0)?, source(56, Field::Src1)?] });
    inst.neg = (code.field(52, 1) | code.field(60, 1) << 1) as u8;
    inst.abs = (code.field(53, 1) | code.field(61, 1) << 1) as u8;
    if inst.encoding != Encoding::Vopc {
        inst.clamp = code.bit(45);
        inst.omod = code.field(46, 2) as u8;
    }
    Ok(())
}

fn select(code: &Code, low: u32) -> Result<Select, Failure> {
    match code.field(low, 3) {
        byte @ 0..=3 => Ok(Select::Byte(byte as u8)),
        word @ 4..=5 => Ok(Select::Word(word as u8 - 4)),
        6 => Ok(Select::Dword),
        _ => Err(format!("{} has the reserved selection 7", code.row().mnemonic)),
    }
}

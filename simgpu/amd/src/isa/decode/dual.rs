//! VOPD: two vector instructions in one, with one literal shared by both.

use super::{Failure, blank, code::Code, operand, operands};
use crate::isa::inst::{Arch, Encoding, Inst, Operand};
use crate::isa::table::{Field, Form, find};

/// Decodes both halves; the first contains the second.
pub(super) fn inst(arch: Arch, bytes: &[u8]) -> Result<Inst, Failure> {
    let Some(first) = bytes.first_chunk() else {
        return Err(format!("a VOPD instruction needs 8 bytes, but {} are left", bytes.len()));
    };
    let bits = u64::from_le_bytes(*first);
    let mut x = half(arch, Form::X, (bits >> 22 & 15) as u16, bytes)?;
    let y = half(arch, Form::Y, (bits >> 17 & 31) as u16, bytes)?;
    x.size = x.size.max(y.size);
    x.second = Some(Box::new(y));
    Ok(x)
}

fn half(arch: Arch, form: Form, opcode: u16, bytes: &[u8]) -> Result<Inst, Failure> {
    let Some(row) = find(arch, Encoding::Vopd, form, opcode) else {
        return Err(format!("VOPD opcode {form:?} {opcode:#x} is not an instruction of {}", arch.name()));
    };
    let mut code = Code::new(arch, row, bytes, 8)?;
    let mut inst = blank(Encoding::Vopd, row.mnemonic, row.name);
    operands(&mut code, &mut inst)?;
    inst.size = code.size() as u8;
    Ok(inst)
}

/// Returns an operand of a half.
pub(super) fn operand(code: &mut Code, field: Field) -> Result<Operand, Failure> {
    let x = code.row().form == Form::X;
    match (field, x) {
        (Field::Vdst, true) => Ok(operand::vector(code, 56)),
        // The parity of the second destination is the opposite of the first's.
        (Field::Vdst, false) => Ok(Operand::Vgpr((code.field(49, 7) << 1 | u32::from(!code.bit(56))) as u16)),
        (Field::Src0, true) => operand::source(code, 0, 9),
        (Field::Src0, false) => operand::source(code, 32, 9),
        (Field::Src1, true) => Ok(operand::vector(code, 9)),
        (Field::Src1, false) => Ok(operand::vector(code, 41)),
        (other, _) => Err(format!("{} has an operand {other:?} that VOPD has no bits for", code.row().mnemonic)),
    }
}

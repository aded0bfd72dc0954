//! Constants of the scalar encodings, and the addresses of scalar memory.

use super::{Failure, code::Code, operand};
use crate::isa::inst::{Cache, Encoding, Inst, Operand};
use crate::isa::table::Field;

/// Reads the constants of SOPK and SOPP, and of the SOPC and SOP1 instructions that have a constant
/// instead of a source.
pub(super) fn numbers(code: &Code, inst: &mut Inst) {
    inst.imm = match inst.encoding {
        Encoding::Sopk | Encoding::Sopp => code.signed(0, 16),
        Encoding::Sopc if has_number(code) => code.field(8, 8) as i32,
        Encoding::Sop1 if has_number(code) => code.field(0, 8) as i32,
        _ => 0,
    };
}

fn has_number(code: &Code) -> bool {
    code.row().slots.iter().any(|slot| slot.field == Field::Imm)
}

/// Reads the offset and the cache policy of SMEM.
pub(super) fn memory(code: &Code, inst: &mut Inst) {
    if code.arch().is_gfx9() {
        inst.imm = if code.bit(17) { code.signed(32, 21) } else { 0 };
        inst.cache = Cache { glc: code.bit(16), ..Cache::default() };
    } else {
        inst.imm = code.signed(32, 21);
        inst.cache = Cache { glc: code.bit(14), dlc: code.bit(13), ..Cache::default() };
    }
    if code.row().slots.first().is_some_and(|slot| slot.field == Field::Imm) {
        // s_atc_probe has a constant in the position of the data.
        inst.imm1 = code.field(6, 7) as i32;
    }
}

/// Returns the offset register of SMEM.
pub(super) fn offset_register(code: &Code) -> Result<Operand, Failure> {
    let arch = code.arch();
    if !arch.is_gfx9() {
        let register = operand::scalar(arch, code.field(57, 7))?;
        return Ok(if register == Operand::Sgpr(crate::isa::sreg::NULL) { Operand::None } else { register });
    }
    match (code.bit(14), code.bit(17)) {
        (true, _) => operand::scalar(arch, code.field(57, 7)),
        (false, true) => Ok(Operand::None),
        (false, false) => operand::scalar(arch, code.field(32, 7)),
    }
}

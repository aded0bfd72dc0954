//! Matrix instructions of GFX9 (VOP3P-MAI): bits that say which operands are accumulation
//! registers, and patterns of blocks, in place of VOP3P's modifiers.

use super::{Failure, code::Code, operand};
use crate::isa::inst::{Encoding, Inst, Mai, Operand};
use crate::isa::table::{Field, Row, Slot};

/// Whether a row is a matrix instruction of GFX9. `v_accvgpr_read` and `v_accvgpr_write` have the
/// same encoding, but a fixed register file for each operand.
pub(super) fn is(row: &Row) -> bool {
    row.encoding == Encoding::Vop3p && ["v_mfma_", "v_smfmac_"].iter().any(|kind| row.name.starts_with(kind))
}

/// Reads the patterns.
pub(super) const fn modifiers(code: &Code, inst: &mut Inst) {
    inst.mai = Mai { cbsz: code.field(8, 3) as u8, abid: code.field(11, 4) as u8, blgp: code.field(61, 3) as u8 };
}

/// Reads an operand. The result and the addend of a dense product share one bit; in a sparse
/// product the third source is the indices, which are never in an accumulation register.
pub(super) fn operand(code: &mut Code, slot: &Slot) -> Result<Operand, Failure> {
    let sparse = code.row().name.starts_with("v_smfmac_");
    let (operand, accumulation) = match slot.field {
        Field::Src0 => (operand::source(code, 32, 9)?, code.bit(59)),
        Field::Src1 => (operand::source(code, 41, 9)?, code.bit(60)),
        Field::Src2 => (operand::source(code, 50, 9)?, code.bit(15) && !sparse),
        _ => (operand::vector(code, 0), code.bit(15)),
    };
    Ok(match operand {
        Operand::Vgpr(number) if accumulation => Operand::Vgpr(number + 256),
        other => other,
    })
}

//! The word of a lane permutation (DPP).

use super::{Failure, code::Code};
use crate::isa::inst::{Arch, Dpp, Encoding, Inst};
use crate::isa::table::Form;

/// Reads the permutation, and the modifiers that DPP16 adds to the short encodings.
pub(super) fn permutation(code: &Code, inst: &mut Inst) -> Result<(), Failure> {
    let long = matches!(inst.encoding, Encoding::Vop3 | Encoding::Vop3p);
    let word = if long { 64 } else { 32 };
    if code.row().form == Form::Dpp8 {
        let fetch_inactive = code.field(if long { 32 } else { 0 }, 9) == 0xea;
        let lanes = std::array::from_fn(|i| code.field(word + 8 + 3 * i as u32, 3) as u8);
        inst.dpp = Some(Dpp::Dpp8 { lanes, fetch_inactive });
        return Ok(());
    }
    let ctrl = code.field(word + 8, 9) as u16;
    if !exists(code.arch(), ctrl) {
        return Err(format!("{} has dpp_ctrl {ctrl:#x}, which {} does not have", inst.mnemonic, code.arch().name()));
    }
    inst.dpp = Some(Dpp::Dpp16 {
        ctrl,
        row_mask: code.field(word + 28, 4) as u8,
        bank_mask: code.field(word + 24, 4) as u8,
        bound_ctrl: code.bit(word + 19),
        fetch_inactive: code.bit(word + 18),
    });
    if !long {
        inst.neg = (code.field(52, 1) | code.field(54, 1) << 1) as u8;
        inst.abs = (code.field(53, 1) | code.field(55, 1) << 1) as u8;
    }
    Ok(())
}

/// Whether a target has a control.
fn exists(arch: Arch, ctrl: u16) -> bool {
    match ctrl {
        0..=0xff => true, // quad_perm
        // row_shl, row_shr, row_ror
        0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f => true,
        // row_mirror, row_half_mirror
        0x140 | 0x141 => true,
        0x130 | 0x134 | 0x138 | 0x13c | 0x142 | 0x143 => arch.is_gfx9(), // wave_*, row_bcast
        0x150..=0x15f => true,                                           // row_newbcast, row_share
        0x160..=0x16f => !arch.is_gfx9(),                                // row_xmask
        _ => false,
    }
}

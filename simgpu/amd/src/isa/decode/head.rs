//! Determines a word's encoding, and which further words belong to it.

use super::Failure;
use crate::isa::inst::{Arch, Encoding};
use crate::isa::table::Form;

/// An encoding and an opcode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) encoding: Encoding,
    pub(super) opcode: u16,
}

/// Reads the encoding and the opcode from a first word.
pub(super) fn head(arch: Arch, word: u32) -> Result<Head, Failure> {
    let field = |low: u32, width: u32| (word >> low & ((1 << width) - 1)) as u16;
    let (encoding, opcode) = match (word >> 30, field(23, 7), field(25, 6)) {
        (0 | 1, _, 0x3f) => (Encoding::Vop1, field(9, 8)),
        (0 | 1, _, 0x3e) => (Encoding::Vopc, field(17, 8)),
        (0 | 1, _, opcode) => (Encoding::Vop2, opcode),
        (2, 0x7d, _) => (Encoding::Sop1, field(8, 8)),
        (2, 0x7e, _) => (Encoding::Sopc, field(16, 7)),
        (2, 0x7f, _) => (Encoding::Sopp, field(16, 7)),
        (2, 0x60.., _) => (Encoding::Sopk, field(23, 5)),
        (2, opcode, _) => (Encoding::Sop2, opcode),
        _ if arch.is_gfx9() => gfx9(word, field)?,
        _ => gfx11(word, field)?,
    };
    Ok(Head { encoding, opcode })
}

fn gfx9(word: u32, field: impl Fn(u32, u32) -> u16) -> Result<(Encoding, u16), Failure> {
    Ok(match word >> 26 {
        0x30 => (Encoding::Smem, field(18, 8)),
        0x34 if field(23, 3) == 7 => (Encoding::Vop3p, field(16, 7)),
        0x34 => (Encoding::Vop3, field(16, 10)),
        0x36 => (Encoding::Ds, field(17, 8)),
        0x37 => (segment(field(14, 2))?, field(18, 7)),
        0x38 => (Encoding::Mubuf, field(18, 7)),
        other => return Err(unknown(other, &[(0x31, "EXP"), (0x35, "VINTRP"), (0x3a, "MTBUF"), (0x3c, "MIMG")])),
    })
}

fn gfx11(word: u32, field: impl Fn(u32, u32) -> u16) -> Result<(Encoding, u16), Failure> {
    Ok(match word >> 26 {
        0x32 => (Encoding::Vopd, field(22, 4)),
        0x33 => match field(24, 2) {
            0 if field(23, 1) == 0 => (Encoding::Vop3p, field(16, 7)),
            1 => return Err("the encoding VINTERP is not decoded".into()),
            2 => return Err("the encoding LDSDIR is not decoded".into()),
            _ => return Err("bits 31:23 are not an encoding".into()),
        },
        0x35 => (Encoding::Vop3, field(16, 10)),
        0x36 => (Encoding::Ds, field(18, 8)),
        0x37 => (segment(field(16, 2))?, field(18, 7)),
        0x38 => (Encoding::Mubuf, field(18, 8)),
        0x3d => (Encoding::Smem, field(18, 8)),
        other => return Err(unknown(other, &[(0x3a, "MTBUF"), (0x3c, "MIMG"), (0x3e, "EXP")])),
    })
}

fn segment(code: u16) -> Result<Encoding, Failure> {
    match code {
        0 => Ok(Encoding::Flat),
        1 => Ok(Encoding::Scratch),
        2 => Ok(Encoding::Global),
        _ => Err("segment 3 of a FLAT instruction is reserved".into()),
    }
}

fn unknown(code: u32, known: &[(u32, &str)]) -> Failure {
    match known.iter().find(|(known, _)| *known == code) {
        Some((_, name)) => format!("the encoding {name} is not decoded"),
        None => format!("bits 31:26 are {code:#x}, which is not an encoding"),
    }
}

/// Returns the form of an instruction and its size in bytes without a literal.
pub(super) fn form(arch: Arch, head: Head, bytes: &[u8]) -> Result<(Form, usize), Failure> {
    let word =
        |place: usize| bytes.get(4 * place..).and_then(|rest| rest.first_chunk()).map(|b| u32::from_le_bytes(*b));
    let (size, source) = match head.encoding {
        Encoding::Sop2 | Encoding::Sopk | Encoding::Sop1 | Encoding::Sopc | Encoding::Sopp => {
            return Ok((Form::Plain, 4));
        }
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => (4, word(0)),
        Encoding::Vop3 | Encoding::Vop3p if !arch.is_gfx9() => (8, word(1)),
        _ => return Ok((Form::Plain, 8)),
    };
    let Some(source) = source else {
        return Err(format!("a {:?} instruction needs 8 bytes, but {} are left", head.encoding, bytes.len()));
    };
    Ok(match (source & 0x1ff, arch.is_gfx9()) {
        (0xf9, true) => (Form::Sdwa, size + 4),
        (0xfa, _) => (Form::Dpp16, size + 4),
        (0xe9 | 0xea, false) => (Form::Dpp8, size + 4),
        _ => (Form::Plain, size),
    })
}

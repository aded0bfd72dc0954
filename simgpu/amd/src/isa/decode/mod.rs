//! Decodes bytes to an instruction. The first bits determine the encoding, and the opcode selects a
//! row of the tables. The row's slots say which fields are operands and which other bits may be
//! set. Field positions are from AMD's ISA documents of CDNA 2, CDNA 3 and RDNA 3.

mod code;
mod dpp;
mod dual;
mod head;
mod matrix;
mod memory;
mod operand;
mod scalar;
mod vector;

use super::inst::{Arch, Cache, DecodeError, Encoding, Inst, Mai, Operand};
use super::table::{self, Field, Role};
use code::Code;

/// Decodes the instruction at the start of `bytes`, which may contain more bytes after it.
///
/// # Errors
/// Unknown encodings, opcodes, operands and modifiers, and bytes that end within the instruction;
/// the error names the unknown part.
pub fn decode(arch: Arch, bytes: &[u8]) -> Result<Inst, DecodeError> {
    let Some(first) = bytes.first_chunk() else {
        return Err(DecodeError {
            word: 0,
            what: format!("{} bytes are not an instruction, which needs at least 4", bytes.len()),
        });
    };
    let word = u32::from_le_bytes(*first);
    inst(arch, word, bytes).map_err(|what| DecodeError { word, what })
}

/// The description of an error; [`decode`] adds the word.
type Failure = String;

fn inst(arch: Arch, word: u32, bytes: &[u8]) -> Result<Inst, Failure> {
    let head = head::head(arch, word)?;
    if head.encoding == Encoding::Vopd {
        return dual::inst(arch, bytes);
    }
    let (form, size) = head::form(arch, head, bytes)?;
    let Some(row) = table::find(arch, head.encoding, form, head.opcode) else {
        let suffix = if form == table::Form::Plain { String::new() } else { format!(" with {form:?}") };
        let name = arch.name();
        return Err(format!("{:?} opcode {:#x}{suffix} is not an instruction of {name}", head.encoding, head.opcode));
    };
    let mut code = Code::new(arch, row, bytes, size)?;
    let mut inst = blank(row.encoding, row.mnemonic, row.name);
    match head.encoding {
        Encoding::Sop2 | Encoding::Sopk | Encoding::Sop1 | Encoding::Sopc | Encoding::Sopp => {
            scalar::numbers(&code, &mut inst)
        }
        Encoding::Smem => scalar::memory(&code, &mut inst),
        Encoding::Vop3p if matrix::is(row) => matrix::modifiers(&code, &mut inst),
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3 | Encoding::Vop3p => {
            vector::modifiers(&code, &mut inst)?
        }
        Encoding::Ds => memory::share(&code, &mut inst),
        Encoding::Flat | Encoding::Global | Encoding::Scratch => memory::flat(&code, &mut inst)?,
        Encoding::Mubuf => memory::buffer(&code, &mut inst)?,
        Encoding::Vopd => {}
    }
    operands(&mut code, &mut inst)?;
    inst.size = code.size() as u8;
    Ok(inst)
}

/// Reads the operands that the row names.
fn operands(code: &mut Code, inst: &mut Inst) -> Result<(), Failure> {
    for slot in code.row().slots {
        if slot.role == Role::Other {
            continue;
        }
        let (operand, dwords) = match slot.field {
            // Loads that write directly to LDS have no destination register.
            Field::Vdst if inst.lds && slot.role == Role::Dest && inst.encoding != Encoding::Ds => (Operand::None, 0),
            _ if slot.role == Role::Old && !inst.cache.glc => (Operand::None, 0),
            _ => operand::read(code, slot, inst)?,
        };
        match slot.role {
            Role::Dest | Role::Old => (inst.dst, inst.dst_dwords) = (operand, dwords),
            Role::Flag => inst.sdst = operand,
            Role::Source(place) => {
                let place = usize::from(place);
                (inst.src[place], inst.src_dwords[place]) = (operand, dwords);
                inst.src_count = inst.src_count.max(place as u8 + 1);
            }
            Role::Other => {}
        }
    }
    Ok(())
}

/// Returns an instruction with only its names.
pub fn blank(encoding: Encoding, mnemonic: &'static str, name: &'static str) -> Inst {
    Inst {
        mnemonic,
        name,
        encoding,
        size: 0,
        dst: Operand::None,
        sdst: Operand::None,
        src: [Operand::None; 4],
        src_count: 0,
        dst_dwords: 0,
        src_dwords: [0; 4],
        imm: 0,
        imm1: 0,
        neg: 0,
        neg_hi: 0,
        abs: 0,
        op_sel: 0,
        op_sel_hi: 0,
        clamp: false,
        omod: 0,
        sdwa: None,
        dpp: None,
        cache: Cache::default(),
        mai: Mai::default(),
        offen: false,
        idxen: false,
        lds: false,
        second: None,
    }
}

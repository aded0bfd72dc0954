//! Moves matrices of 8 by 8 halves between shared memory and the registers of a whole warp:
//! `ldmatrix` and `stmatrix`.
//!
//! Groups of eight lanes give the addresses of the rows of a matrix; the first eight lanes are for
//! the first matrix. In the registers, four lanes hold a row of a matrix, two elements each; with
//! `.trans`, they hold a column.

use super::SHARED_APERTURE;
use super::address::{Memory, address, addresses, take_space};
use super::checked_access;
use super::operation::{Form, Lanes, MOST, Places, lanes_in};
use crate::exec::lane::{row, write};
use crate::exec::{Env, Flow, LANES, Place, Program, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Space, Type};
use isobit_simgpu_core::check::Access;

/// Matrix instructions.
pub const TABLE: Table = &[
    ("ldmatrix", |low, inst| lower(low, inst, Access::Load)),
    ("stmatrix", |low, inst| lower(low, inst, Access::Store)),
];

/// Rows of a matrix, and elements per row.
const SIDE: usize = 8;
/// Bytes per row.
const ROW: u32 = 16;

fn lower(lower: &mut Lower<'_>, inst: &Instruction, access: Access) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if !modifiers.take("sync") || !modifiers.take("aligned") || !modifiers.take("m8n8") {
        return Err("it needs the modifiers .sync.aligned.m8n8".into());
    }
    let count = match modifiers.take_any(&["x1", "x2", "x4"]) {
        Some("x1") => 1,
        Some("x2") => 2,
        Some(_) => 4,
        None => return Err("it has no number of matrices".into()),
    };
    let transposed = modifiers.take("trans");
    let space = take_space(&mut modifiers);
    if !modifiers.take("b16") {
        return Err("its elements must have the type b16".into());
    }
    modifiers.finish()?;
    let (at, all) = match (inst.operands.as_slice(), access) {
        ([all, at], Access::Load) | ([at, all], Access::Store) => (address(lower, at, space)?, all),
        _ => return Err("it needs an address and registers".into()),
    };
    if !matches!(space, Space::Shared | Space::Generic) {
        return Err("matrices must be in shared memory".into());
    }
    let all = match all {
        Operand::Vector(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    if all.len() != count {
        return Err(format!("{} registers for {count} matrices", all.len()));
    }
    let mut registers = [Place::NONE; MOST];
    for (place, register) in registers.iter_mut().zip(all) {
        *place = lower.destination(register, Type { kind: Kind::Bits, bits: 32 })?;
    }
    let lanes: Lanes = match (access, transposed) {
        (Access::Load, false) => load::<false>,
        (Access::Load, true) => load::<true>,
        (_, false) => store::<false>,
        (_, true) => store::<true>,
    };
    let form = Form {
        access,
        bytes: ROW,
        align: ROW,
        offset: if at.memory == Memory::Generic { at.offset.wrapping_sub(SHARED_APERTURE) } else { at.offset },
        narrow: at.narrow,
        count,
        registers,
        old: Place::NONE,
        row: None,
        same: None,
        lanes,
        shared: lanes,
    };
    let mut step = lower.step(run);
    (step.src[0], step.extra) = (at.base, lower.program.forms.len() as u32);
    lower.program.granules.note_local(ROW);
    lower.program.forms.push(form);
    lower.push_access(step);
    Ok(())
}

fn run(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    if !warp.converged(u32::MAX) {
        return Flow::Converge;
    }
    let form = &env.program.forms[step.extra as usize];
    let at = addresses(warp, env.program, step.src[0], form);
    let mask = warp.active & u32::MAX >> (LANES - form.count * SIDE);
    if mask != 0 {
        checked_access::shared(warp, env, form, mask, &at);
    }
    Flow::Next
}

/// Returns the position of a matrix element in the registers: its lane, and its index among the
/// lane's two elements.
const fn holder<const TRANSPOSED: bool>(row: usize, column: usize) -> (usize, usize) {
    let (row, column) = if TRANSPOSED { (column, row) } else { (row, column) };
    (row * 4 + column / 2, column % 2)
}

unsafe fn load<const TRANSPOSED: bool>(warp: &mut Warp, _: &Program, form: &Form, lanes: u32, at: &Places) {
    let mut words = [[[0u16; 2]; LANES]; 4];
    for lane in lanes_in(lanes) {
        // SAFETY: the row of this lane may be accessed, as the caller promises.
        let elements = unsafe { at[lane].cast::<[u16; SIDE]>().read_unaligned() };
        for (column, element) in elements.into_iter().enumerate() {
            let (holder, half) = holder::<TRANSPOSED>(lane % SIDE, column);
            words[lane / SIDE][holder][half] = element;
        }
    }
    for (place, words) in form.registers.into_iter().zip(&words).take(form.count) {
        let words = words.map(|[low, high]| u32::from(low) | u32::from(high) << 16);
        // SAFETY: lowering checked that the registers have 32 bits.
        unsafe { write(warp, place, &words) };
    }
}

unsafe fn store<const TRANSPOSED: bool>(warp: &mut Warp, program: &Program, form: &Form, lanes: u32, at: &Places) {
    for lane in lanes_in(lanes) {
        // SAFETY: lowering checked that the registers have 32 bits, and each lane holds two
        // elements; the row of this lane may be accessed.
        unsafe {
            let words = &*row(warp, program, form.registers[lane / SIDE]).cast::<[[u16; 2]; LANES]>();
            let elements: [u16; SIDE] = std::array::from_fn(|column| {
                let (holder, half) = holder::<TRANSPOSED>(lane % SIDE, column);
                words[holder][half]
            });
            at[lane].cast::<[u16; SIDE]>().write_unaligned(elements);
        }
    }
}

//! Asynchronous copies that were asked for and are not done. They are made when they are waited
//! for: until then, their destination counts as not written, so that whoever reads it too early is
//! found.

use super::checked_access;
use super::operation::{Form, Lanes, MOST, Places, lanes_in};
use crate::exec::{Env, LANES, Place, Program, Warp};
use isobit_simgpu_core::check::Access;

/// The most bytes that one lane copies.
const COPY: usize = 16;

/// No group yet.
const OPEN: u32 = u32::MAX;

/// Asynchronous copies of a warp.
#[derive(Debug, Default)]
pub struct Pending {
    copies: Vec<Copies>,
    /// Groups that each lane has committed.
    groups: [u32; LANES],
    /// Those that are on their way into shared memory.
    current: Copies,
}

/// The copies that one instruction asked for.
#[derive(Debug, Clone, Default)]
struct Copies {
    /// The step after the instruction.
    pc: usize,
    /// The lanes whose copies are not done.
    lanes: u32,
    /// Addresses in shared memory.
    to: [u64; LANES],
    /// What is copied, zeros at the end.
    bytes: [[u8; COPY]; LANES],
    /// How many bytes each lane's are.
    size: u32,
    /// Each lane's group: how many it had committed before.
    groups: [u32; LANES],
}

/// The form of one side of a copy.
pub fn form(access: Access, bytes: u32, lanes: Lanes) -> Form {
    Form {
        access,
        bytes,
        align: bytes,
        offset: 0,
        narrow: false,
        count: 0,
        registers: [Place::NONE; MOST],
        old: Place::NONE,
        row: None,
        same: None,
        lanes,
        shared: lanes,
    }
}

/// Puts bytes of global memory on their way.
///
/// # Safety
/// As [`Lanes`] says, of no more than sixteen bytes.
pub unsafe fn take(warp: &mut Warp, _: &Program, form: &Form, lanes: u32, at: &Places) {
    for lane in lanes_in(lanes) {
        // SAFETY: the bytes of these lanes may be accessed as the caller promises, and there are no
        // more than `COPY`.
        unsafe { at[lane].copy_to_nonoverlapping(warp.pending.current.bytes[lane].as_mut_ptr(), form.bytes as usize) };
    }
    warp.pending.current.lanes |= lanes;
}

/// Brings them to shared memory.
unsafe fn bring(warp: &mut Warp, _: &Program, form: &Form, lanes: u32, at: &Places) {
    for lane in lanes_in(lanes) {
        // SAFETY: as for `take`.
        unsafe { at[lane].copy_from_nonoverlapping(warp.pending.current.bytes[lane].as_ptr(), form.bytes as usize) };
    }
}

impl Pending {
    /// Forgets all copies.
    pub fn reset(&mut self) {
        self.copies.clear();
        self.groups = [0; LANES];
    }

    /// Starts the copies of an instruction, which `take` fills and [`asked`](Self::asked) ends.
    pub fn ask(&mut self, pc: usize, size: u32, to: [u64; LANES]) {
        self.current = Copies { pc, size, to, groups: [OPEN; LANES], ..Copies::default() };
    }

    /// The copies of an instruction are as they shall be, for these lanes.
    pub fn asked(&mut self, lanes: u32) {
        self.current.lanes = lanes;
        self.copies.push(self.current.clone());
    }

    /// The lanes of which there is something to copy.
    pub fn taken(&self) -> u32 {
        self.current.lanes
    }

    /// Makes a group of each lane's copies that have none.
    pub fn commit(&mut self, lanes: u32) {
        for copies in &mut self.copies {
            for lane in lanes_in(lanes & copies.lanes) {
                let group = &mut copies.groups[lane];
                *group = (*group).min(self.groups[lane]);
            }
        }
        for lane in lanes_in(lanes) {
            self.groups[lane] += 1;
        }
    }

    /// The lanes whose copies come to be done where so many of the last groups need not be; all
    /// where that is none.
    fn due(&self, copies: &Copies, lanes: u32, left: Option<u32>) -> u32 {
        let Some(left) = left else { return lanes & copies.lanes };
        let due = |lane: &usize| copies.groups[*lane] < self.groups[*lane].saturating_sub(left);
        lanes_in(lanes & copies.lanes).filter(due).fold(0, |due, lane| due | 1 << lane)
    }
}

/// Makes the copies of the active lanes, but for those of so many of their last groups and those in
/// no group; all where none is given.
pub fn wait(warp: &mut Warp, env: &mut Env<'_>, left: Option<u32>) {
    let (pc, active) = (warp.pc, warp.active);
    for mut copies in std::mem::take(&mut warp.pending.copies) {
        let due = warp.pending.due(&copies, active, left);
        if due != 0 {
            let (to, form) = (copies.to, form(Access::Store, copies.size, bring));
            warp.pending.current = copies.clone();
            // Findings are about the instruction that asked.
            warp.pc = copies.pc;
            checked_access::shared(warp, env, &form, due, &to);
            warp.pc = pc;
            copies.lanes &= !due;
        }
        if copies.lanes != 0 {
            warp.pending.copies.push(copies);
        }
    }
}

//! Asynchronous copies that are not complete. They are performed at the wait: until then, their
//! destination counts as not written, so that an early read is a finding.

use super::checked_access;
use super::operation::{Form, Lanes, MOST, Places, lanes_in};
use crate::exec::{Env, LANES, Place, Program, Warp};
use isobit_simgpu_core::check::Access;
use isobit_simgpu_core::check::part::Part;
use std::hash::{Hash, Hasher};

/// Maximum bytes that one lane copies.
const COPY: usize = 16;

/// The marker for a copy that is not in a group yet.
const OPEN: u32 = u32::MAX;

/// Asynchronous copies of a warp.
#[derive(Debug, Default)]
pub struct Pending {
    copies: Vec<Copies>,
    /// Number of groups that each lane has committed.
    groups: [u32; LANES],
    /// The copies of the current instruction, or those that are being written to shared memory.
    current: Copies,
}

/// The copies of one instruction.
#[derive(Debug, Clone, Default)]
struct Copies {
    /// The step after the instruction.
    pc: usize,
    /// The lanes whose copies are not complete.
    lanes: u32,
    /// Destination addresses in shared memory.
    to: [u64; LANES],
    /// The data, padded with zeros.
    bytes: [[u8; COPY]; LANES],
    /// Bytes per lane.
    size: u32,
    /// The group of each lane's copy: the number of groups that the lane had committed before.
    groups: [u32; LANES],
}

/// Returns the form for one side of a copy.
pub fn form(access: Access, bytes: u32, lanes: Lanes) -> Form {
    Form {
        access,
        bytes,
        // The part of a copy that lies in shared memory may have any size.
        align: 1 << bytes.trailing_zeros(),
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

/// Reads bytes of global memory into the current copies.
///
/// # Safety
/// The requirements of [`Lanes`], for at most 16 bytes.
pub unsafe fn take(warp: &mut Warp, _: &Program, form: &Form, lanes: u32, at: &Places) {
    for lane in lanes_in(lanes) {
        // SAFETY: the bytes of these lanes may be accessed as the caller promises, and there are no
        // more than `COPY`.
        unsafe { at[lane].copy_to_nonoverlapping(warp.pending.current.bytes[lane].as_mut_ptr(), form.bytes as usize) };
    }
    warp.pending.current.lanes |= lanes;
}

/// Writes the current copies to shared memory.
unsafe fn bring(warp: &mut Warp, _: &Program, form: &Form, lanes: u32, at: &Places) {
    for lane in lanes_in(lanes) {
        // SAFETY: as for `take`.
        unsafe { at[lane].copy_from_nonoverlapping(warp.pending.current.bytes[lane].as_ptr(), form.bytes as usize) };
    }
}

/// Groups are counted back from the last one, so that a loop that commits groups returns to an
/// earlier state.
impl Hash for Pending {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for Copies { pc, lanes, to, bytes, size, groups } in &self.copies {
            let back = |lane| if groups[lane] == OPEN { OPEN } else { self.groups[lane] - groups[lane] };
            let groups = lanes_in(*lanes).map(back).collect::<Vec<_>>();
            (pc, lanes, to, bytes, size, groups).hash(hasher);
        }
    }
}

impl Pending {
    /// Discards all copies.
    pub fn reset(&mut self) {
        self.copies.clear();
        self.groups = [0; LANES];
    }

    /// Starts the copies of an instruction; `take` fills them and [`asked`](Self::asked) ends them.
    pub fn ask(&mut self, pc: usize, size: u32, to: [u64; LANES]) {
        self.current = Copies { pc, size, to, groups: [OPEN; LANES], ..Copies::default() };
    }

    /// Adds the copy of a lane of the instruction of which only a part lies in shared memory. The
    /// copy is of this part alone, so that the wait does not report the rest a second time.
    pub fn asked_part(&mut self, lane: usize, part: Part) {
        let mut copies = self.current.clone();
        (copies.lanes, copies.size, copies.to[lane]) = (1 << lane, part.bytes as u32, part.address);
        copies.bytes[lane].rotate_left(part.skipped);
        self.copies.push(copies);
    }

    /// Ends the copies of an instruction, for these lanes.
    pub fn asked(&mut self, lanes: u32) {
        self.current.lanes = lanes;
        self.copies.push(self.current.clone());
    }

    /// Returns the lanes that have data to copy.
    pub fn taken(&self) -> u32 {
        self.current.lanes
    }

    /// Adds each lane's ungrouped copies to a new group.
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

    /// Returns the lanes whose copies must complete if the last `left` groups may stay incomplete;
    /// all lanes if `left` is `None`.
    fn due(&self, copies: &Copies, lanes: u32, left: Option<u32>) -> u32 {
        let Some(left) = left else { return lanes & copies.lanes };
        let due = |lane: &usize| copies.groups[*lane] < self.groups[*lane].saturating_sub(left);
        lanes_in(lanes & copies.lanes).filter(due).fold(0, |due, lane| due | 1 << lane)
    }
}

/// Completes the copies of the active lanes, except those of the last `left` groups and those
/// without a group; completes all if `left` is `None`.
pub fn wait(warp: &mut Warp, env: &mut Env<'_>, left: Option<u32>) {
    let (pc, active) = (warp.pc, warp.active);
    for mut copies in std::mem::take(&mut warp.pending.copies) {
        let due = warp.pending.due(&copies, active, left);
        if due != 0 {
            let (to, form) = (copies.to, form(Access::Store, copies.size, bring));
            warp.pending.current = copies.clone();
            // Findings name the instruction that requested the copy.
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

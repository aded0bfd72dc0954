//! The stacks of a warp's threads: the frames of functions, and memory that `alloca` allocates.
//!
//! Frames are in the thread's local memory, above the variables of the kernel, so that pointers to
//! them work as on a card. What a card's frame has besides (the return address and the registers of
//! the caller) is kept apart, where no store of the program can overwrite it, but counts for the
//! limit. A thread's local memory ends with its last frame or allocation ([`Private`]): reads of
//! variables of a function that has returned are findings, and stores behind the end too.
//!
//! [`Private`]: super::memory::Private

use super::calls::{Move, Slot};
use super::memory::lanes_in;
use super::program::Program;
use super::row::LANES;
use super::warp::Warp;
use crate::module::MOST_DECLARED;
use isobit_simgpu_core::undefined;

#[cfg(test)]
mod tests;

/// The default of CUDA's `CU_LIMIT_STACK_SIZE`, in bytes per thread.
pub const DEFAULT_STACK: u32 = 1024;
/// The bytes that a return address counts.
pub const RETURN_ADDRESS: u32 = 8;
/// The alignment of frames.
pub const ALIGN: u32 = 16;
/// The most local memory of a thread: twice what a kernel may declare, so that the functions that
/// it calls have room. It bounds what does not count for the limit.
const MOST: u32 = 2 * MOST_DECLARED;

/// The stacks of a warp's lanes. Without calls there are none.
#[derive(Debug, Default, Hash)]
pub struct Stack {
    lanes: Vec<Lane>,
    limit: u32,
}

#[derive(Debug, Default, Hash)]
struct Lane {
    /// The bytes in use that count for the limit.
    used: u32,
    frames: Vec<Frame>,
    /// The words of the registers that calls keep.
    kept: Vec<u32>,
}

/// What a call keeps of its caller.
#[derive(Debug, Clone, Copy, Hash)]
struct Frame {
    site: u32,
    /// The step after the call.
    back: u32,
    /// The start of the caller's frame.
    frame: u32,
    /// The end of the caller's local memory.
    end: u32,
    /// The bytes that were in use.
    used: u32,
}

impl Stack {
    /// Empties the stacks of a warp that starts a program.
    pub fn reset(&mut self, program: &Program, limit: u32) {
        if !program.calls.stack {
            self.lanes.clear();
            return;
        }
        self.limit = limit.max(program.calls.least);
        self.lanes.resize_with(LANES, Lane::default);
        for lane in &mut self.lanes {
            lane.used = 0;
            lane.frames.clear();
            lane.kept.clear();
        }
    }

    /// Returns the bytes that a card reserves for the stack of each thread.
    pub fn room(&self) -> u32 {
        if self.lanes.is_empty() { 0 } else { self.limit }
    }

    /// Returns the number of functions in which a lane is.
    pub fn depth(&self, lane: usize) -> u32 {
        self.lanes.get(lane).map_or(0, |lane| lane.frames.len() as u32)
    }

    /// Returns the host memory that it takes, in bytes.
    pub fn host_bytes(&self) -> usize {
        let of_lane = |lane: &Lane| size_of_val(&lane.frames[..]) + size_of_val(&lane.kept[..]);
        size_of_val(&self.lanes[..]) + self.lanes.iter().map(of_lane).sum::<usize>()
    }

    /// Whether lanes are equally deep in calls.
    pub fn is_level(&self, lanes: u32) -> bool {
        let mut depths = lanes_in(lanes).map(|lane| self.depth(lane));
        let first = depths.next();
        depths.all(|depth| Some(depth) == first)
    }
}

/// Returns the words of a register in a lane.
fn words(slot: &Slot, lane: usize) -> impl Iterator<Item = (usize, usize)> {
    let each = slot.words() as usize;
    (0..each).map(move |word| {
        let at = lane * each + word;
        (slot.place.index() + at / LANES, at % LANES)
    })
}

impl Warp {
    /// Returns the place of a lane's next frame or allocation, in local memory.
    pub(super) fn top(&self, lane: usize) -> u32 {
        self.private.ends()[lane].next_multiple_of(ALIGN)
    }

    /// Raises the top of a lane by `bytes`, of which `counted` count for the limit, and returns
    /// where it was.
    pub(super) fn raise(&mut self, lane: usize, bytes: u32, counted: u32, what: &str) -> Result<u32, String> {
        let top = self.top(lane);
        let (limit, stack) = (self.stack.limit, &mut self.stack.lanes[lane]);
        let end = top.saturating_add(bytes);
        let (used, depth) = (stack.used, stack.frames.len());
        if used.saturating_add(counted) > limit {
            return Err(format!(
                "stack overflow: {what} needs {counted} bytes, and {used} of {limit} are in use, {depth} calls deep"
            ));
        }
        if end > MOST {
            return Err(format!(
                "{what} needs {bytes} bytes, {depth} calls deep: the thread's local memory exceeds {MOST} bytes"
            ));
        }
        stack.used += counted;
        self.private.set_end(lane, end);
        Ok(top)
    }

    /// Frees a lane's memory from `top` on.
    pub(super) fn free(&mut self, lane: usize, top: u32) {
        let (old, end) = (self.top(lane), self.private.ends()[lane]);
        let stack = &mut self.stack.lanes[lane];
        stack.used = stack.used.saturating_sub(old - top);
        self.private.forget(lane, top, end);
        self.private.set_end(lane, end.min(top));
    }

    /// Returns the value of a register in a lane, word by word.
    fn keep(&self, slot: &Slot, lane: usize, to: &mut Vec<u32>) {
        match slot.bits {
            0 => to.push(self.predicates[slot.place.index()] >> lane & 1),
            16 => {
                let word = self.rows[slot.place.index()].0[lane / 2];
                to.push(word >> (16 * (lane % 2)) & 0xffff);
            }
            _ => to.extend(words(slot, lane).map(|(row, at)| self.rows[row].0[at])),
        }
    }

    /// Sets a register in a lane to a value from [`keep`](Self::keep).
    fn put_back(&mut self, slot: &Slot, lane: usize, value: &[u32]) {
        match slot.bits {
            0 => {
                let predicate = &mut self.predicates[slot.place.index()];
                *predicate = *predicate & !(1 << lane) | (value[0] & 1) << lane;
            }
            16 => {
                let word = &mut self.rows[slot.place.index()].0[lane / 2];
                let shift = 16 * (lane % 2);
                *word = *word & !(0xffff << shift) | (value[0] & 0xffff) << shift;
            }
            _ => words(slot, lane).zip(value).for_each(|((row, at), word)| self.rows[row].0[at] = *word),
        }
    }

    /// Lets lanes enter a function, with `back` as the step after the call.
    ///
    /// # Errors
    /// Fails if the stack of a lane has no room, and returns the lane.
    pub fn call(
        &mut self,
        program: &Program,
        site: u32,
        callee: u32,
        lanes: u32,
        back: u32,
    ) -> Result<(), (usize, String)> {
        let calls = &program.calls;
        let (number, site, callee) = (site, &calls.sites[site as usize], &calls.callees[callee as usize]);
        let kept = site.kept.iter().map(Slot::words).sum::<u32>();
        let counted = callee.counted + 4 * kept + RETURN_ADDRESS;
        for lane in lanes_in(lanes) {
            let (used, end) = (self.stack.lanes[lane].used, self.private.ends()[lane]);
            let base = self.raise(lane, callee.frame, counted, &callee.name).map_err(|why| (lane, why))?;
            let own = self.rows[calls.frame.index()].0[lane];
            let mut words = std::mem::take(&mut self.stack.lanes[lane].kept);
            site.kept.iter().for_each(|slot| self.keep(slot, lane, &mut words));
            let stack = &mut self.stack.lanes[lane];
            stack.kept = words;
            stack.frames.push(Frame { site: number, back, frame: own, end, used });
            for argument in &site.arguments {
                self.private.copy(lane, here(argument, own), base + argument.there, argument.bytes);
            }
            self.rows[calls.frame.index()].0[lane] = base;
            callee.undefined.iter().for_each(|slot| self.put_back(slot, lane, &[undefined::WORD; 4]));
        }
        Ok(())
    }

    /// Lets lanes leave a function, and returns the next step of each.
    pub fn leave(&mut self, program: &Program, callee: u32, lanes: u32) -> [u32; LANES] {
        let (calls, mut back) = (&program.calls, [0; LANES]);
        let results = &calls.callees[callee as usize].results;
        for lane in lanes_in(lanes) {
            let base = self.rows[calls.frame.index()].0[lane];
            let stack = &mut self.stack.lanes[lane];
            // Cannot happen: only a call leads into a function.
            let Some(frame) = stack.frames.pop() else { continue };
            stack.used = frame.used;
            self.private.forget(lane, base, base + results.start);
            self.private.forget(lane, base + results.end, self.private.ends()[lane]);
            self.private.set_end(lane, frame.end);
            let mut words = std::mem::take(&mut self.stack.lanes[lane].kept);
            for slot in calls.sites[frame.site as usize].kept.iter().rev() {
                let start = words.len() - slot.words() as usize;
                self.put_back(slot, lane, &words[start..]);
                words.truncate(start);
            }
            self.stack.lanes[lane].kept = words;
            self.rows[calls.frame.index()].0[lane] = frame.frame;
            back[lane] = frame.back;
        }
        back
    }

    /// Copies the results of a call to the variables of the caller.
    pub fn collect(&mut self, program: &Program, site: u32, lanes: u32) {
        let calls = &program.calls;
        for lane in lanes_in(lanes) {
            // The frame that the lane has left starts where the next one would.
            let (own, base) = (self.rows[calls.frame.index()].0[lane], self.top(lane));
            for result in &calls.sites[site as usize].results {
                self.private.copy(lane, base + result.there, here(result, own), result.bytes);
                self.private.forget(lane, base + result.there, base + result.there + result.bytes);
            }
        }
    }
}

/// Returns the place of the caller's variable; its frame starts at `own`.
fn here(part: &Move, own: u32) -> u32 {
    if part.framed { own + part.here } else { part.here }
}

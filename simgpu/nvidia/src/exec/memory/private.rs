//! Local memory of a warp's threads: stacks and spilled registers. No other thread can access it,
//! so there are no races.
//!
//! A thread's memory ends where its stack ends now, not where the host memory for it does: other
//! lanes, and earlier calls, may have needed more. What is behind the end counts as not written,
//! because nothing can be stored there, and calls that return make what was theirs unwritten.

use super::checked_access::low;
use super::operation::{Form, Places, lanes_in};
use crate::exec::{Env, LANES, Warp};
use isobit_simgpu_core::check::Access;
use isobit_simgpu_core::check::part::Part;
use isobit_simgpu_core::finding::{Finding, FindingKind};
use isobit_simgpu_core::undefined;
use std::hash::{Hash, Hasher};

/// Local memory; the bytes of each thread are contiguous.
#[derive(Debug, Default)]
pub struct Private {
    /// Bytes of host memory per thread.
    bytes: usize,
    /// The bytes that every lane has at all times: the local variables of the kernel.
    own: u32,
    /// The end of each lane's memory.
    ends: [u32; LANES],
    /// The lanes of the last access to a stack, and an end that the memories of all of them have. A
    /// look at every end at each access would cost a quarter of the time of a deep recursion.
    common: (u32, u32),
    /// The bytes of all lanes, lane by lane, each at a multiple of 16 bytes.
    words: Vec<u128>,
    /// Which bytes were written: one bit per lane for each byte of a thread. Lanes mostly access
    /// the same byte of their memories.
    written: Vec<u32>,
}

impl Hash for Private {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.words, &self.written, &self.ends).hash(hasher);
    }
}

impl Private {
    /// Resets it to uninitialised memory with this number of bytes per thread.
    pub fn reset(&mut self, bytes: u32) {
        (self.bytes, self.own, self.ends) = (bytes as usize, bytes, [bytes; LANES]);
        self.common = (u32::MAX, bytes);
        self.words.clear();
        self.words.resize(self.stride() / 16 * LANES, undefined::QUAD);
        self.written.clear();
        self.written.resize(self.bytes, 0);
    }

    /// Returns the bytes that every lane has at all times.
    pub fn own(&self) -> u32 {
        self.own
    }

    /// Returns the ends of the lanes' memories.
    pub fn ends(&self) -> &[u32; LANES] {
        &self.ends
    }

    /// Moves the end of a lane's memory; the contents stay.
    pub fn set_end(&mut self, lane: usize, end: u32) {
        self.grow(end);
        self.ends[lane] = end;
        if self.common.0 >> lane & 1 != 0 {
            self.common.1 = self.common.1.min(end);
        }
    }

    /// Whether bytes up to `end` are inside the memories of all lanes of a mask.
    #[inline(always)]
    fn holds(&mut self, end: usize, mask: u32) -> bool {
        let (lanes, common) = self.common;
        mask & !lanes == 0 && end <= common as usize || self.reaches(end, mask)
    }

    /// Like [`holds`](Self::holds), by a look at every end.
    #[inline(never)]
    fn reaches(&mut self, end: usize, mask: u32) -> bool {
        if end <= self.own as usize {
            return true;
        }
        let least = lanes_in(mask).map(|lane| self.ends[lane]).min().unwrap_or(0);
        self.common = (mask, least);
        end <= least as usize
    }

    /// Makes it at least this large; its contents stay.
    fn grow(&mut self, bytes: u32) {
        let (old, stride) = (self.bytes, self.stride());
        if bytes as usize <= old {
            return;
        }
        // Twice the size, so that a deep recursion does not move everything at each call.
        self.bytes = (bytes as usize).max(2 * old).next_multiple_of(16);
        let wide = self.stride();
        self.words.resize(wide / 16 * LANES, undefined::QUAD);
        for lane in (1..LANES).rev() {
            self.words.copy_within(lane * stride / 16..(lane + 1) * stride / 16, lane * wide / 16);
        }
        self.written.resize(self.bytes, 0);
    }

    /// Copies bytes of a lane, and whether they were written. Both places are inside.
    pub fn copy(&mut self, lane: usize, from: u32, to: u32, bytes: u32) {
        let start = lane * self.stride();
        let (from, to, bytes) = (from as usize, to as usize, bytes as usize);
        for at in 0..bytes {
            let written = self.written[from + at] >> lane & 1;
            self.written[to + at] = self.written[to + at] & !(1 << lane) | written << lane;
        }
        self.bytes_mut().copy_within(start + from..start + from + bytes, start + to);
    }

    /// Makes the bytes `from..to` of a lane uninitialised, if there are any.
    pub fn forget(&mut self, lane: usize, from: u32, to: u32) {
        if let Some(written) = self.written.get_mut(from as usize..to as usize) {
            written.iter_mut().for_each(|lanes| *lanes &= !(1 << lane));
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the words have this number of bytes, and every byte value is valid.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), 16 * self.words.len()) }
    }

    fn stride(&self) -> usize {
        self.bytes.next_multiple_of(16)
    }

    /// Returns the host memory that it takes, in bytes.
    pub fn host_bytes(&self) -> usize {
        size_of_val(&self.words[..]) + size_of_val(&self.written[..])
    }

    /// Returns the host addresses of addresses in each lane's memory, in bounds or not.
    pub fn places(&mut self, addresses: &[u64; LANES]) -> Places {
        let (start, stride) = (self.words.as_mut_ptr().cast::<u8>(), self.stride());
        std::array::from_fn(|lane| start.wrapping_add(lane * stride).wrapping_add(addresses[lane] as usize))
    }
}

/// Returns the part of an access at an address in a thread's memory that lies before its end.
pub fn part(end: u32, address: u64, bytes: u32) -> Option<Part> {
    Part::of(0..end.into(), i64::from(low(address) as i32) as u64, bytes.into())
}

/// Returns the lanes whose access is valid, and those of which only a [`part`] may be made. Reports
/// invalid accesses, and marks written bytes as initialised.
pub fn check(warp: &mut Warp, env: &Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) -> (u32, u32) {
    let first = low(addresses[mask.trailing_zeros() as usize & 31]) as usize;
    let places = addresses.iter().enumerate().fold(0, |places, (lane, address)| {
        let active = u64::from(mask >> lane & 1).wrapping_neg();
        places | (address ^ first as u64) & active
    });
    let private = &mut warp.private;
    let (aligned, end) = (first.is_multiple_of(form.align as usize), first + form.bytes as usize);
    if places == 0
        && aligned
        && private.holds(end, mask)
        && let Some(written) = private.written.get_mut(first..end)
    {
        if !form.access.reads() {
            written.iter_mut().for_each(|lanes| *lanes |= mask);
            return (mask, 0);
        }
        if !form.access.writes() && written.iter().fold(mask, |all, lanes| all & lanes) == mask {
            return (mask, 0);
        }
    }
    check_lanes(warp, env, form, mask, addresses)
}

fn check_lanes(warp: &mut Warp, env: &Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) -> (u32, u32) {
    let &Form { access, bytes, align, .. } = form;
    let (mut lanes, mut clipped) = (mask, 0);
    let mut wrong: Option<(FindingKind, usize, &str)> = None;
    for lane in lanes_in(mask) {
        let at = low(addresses[lane]) as usize;
        let mut inside = at..at + bytes as usize;
        let end = warp.private.ends[lane];
        if inside.end > end as usize {
            lanes &= !(1 << lane);
            let part = part(end, addresses[lane], bytes).filter(|_| access != Access::Atomic);
            clipped |= u32::from(part.is_some() || !access.writes()) << lane;
            let Some(part) = part else {
                wrong.get_or_insert((FindingKind::OutOfBounds, lane, "lies outside"));
                continue;
            };
            wrong.get_or_insert((FindingKind::OutOfBounds, lane, "lies partly outside"));
            inside = part.address as usize..part.address as usize + part.bytes;
        }
        let written = &mut warp.private.written[inside];
        if access == Access::Atomic {
            lanes &= !(1 << lane);
            wrong.get_or_insert((
                FindingKind::OutOfBounds,
                lane,
                "is an atomic, which supports global and shared memory only",
            ));
            continue;
        }
        if !at.is_multiple_of(align as usize) {
            wrong.get_or_insert((FindingKind::Misaligned, lane, "is misaligned"));
        }
        if !access.reads() {
            written.iter_mut().for_each(|lanes| *lanes |= 1 << lane);
        } else if written.iter().any(|lanes| lanes >> lane & 1 == 0) {
            wrong.get_or_insert((FindingKind::UninitialisedRead, lane, "reads uninitialised memory"));
        }
    }
    if let Some((kind, lane, what)) = wrong {
        tell(warp, env, form, (kind, what), lane, addresses[lane]);
    }
    (lanes, clipped)
}

#[cold]
fn tell(warp: &Warp, env: &Env<'_>, form: &Form, (kind, what): (FindingKind, &str), lane: usize, address: u64) {
    let instruction = env.describe.instruction(warp.site());
    let thread = env.describe.thread(&warp.place(env), lane as u32);
    let buffer = format!("local memory of {} bytes of the thread", warp.private.ends[lane]);
    let (bytes, offset) = (form.bytes, address as i64);
    let finding = Finding {
        kind,
        kernel: env.launch.kernel().to_owned(),
        message: format!("{instruction}, {thread}: an access of {bytes} bytes at byte {offset} of the {buffer} {what}"),
        instruction,
        thread,
        buffer,
        offset,
    };
    // A card has the whole stack at all times, and does not notice what is wrong inside of it.
    let (end, stack) = (u64::from(low(address)) + u64::from(bytes), u64::from(warp.stack.room()));
    let inside = end <= u64::from(warp.private.own) + stack;
    if kind == FindingKind::OutOfBounds && form.access != Access::Atomic && inside {
        env.launch.remark(finding);
    } else {
        env.launch.report(finding);
    }
}

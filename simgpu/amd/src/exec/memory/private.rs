//! Private memory of a wave's threads: stacks and spilled registers. No other thread accesses it,
//! so there are no races to check for.

use super::operation::Form;
use crate::exec::{Env, Wave};
use crate::isa::Arch;
use isobit_simgpu_core::check::part::Part;
use isobit_simgpu_core::check::{Access, LANES, lanes_of};
use isobit_simgpu_core::finding::{Finding, FindingKind};
use isobit_simgpu_core::undefined;
use std::hash::{Hash, Hasher};

/// The scalar register with the end of the stack, in LLVM's calling convention.
const STACK_POINTER: u8 = 32;

/// Private memory; the bytes of each thread are contiguous.
#[derive(Debug, Default)]
pub struct Private {
    /// Bytes per thread.
    pub bytes_per_lane: u32,
    /// Whether it contains a stack of unknown depth.
    pub stack: bool,
    /// The bytes of all lanes, lane after lane. They are stored as whole words, so that 64-bit
    /// atomics are aligned.
    words: Vec<u64>,
    /// Which bytes have been written.
    init: Vec<u8>,
}

impl Hash for Private {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.words, &self.init).hash(hasher);
    }
}

impl Private {
    /// Resets it to uninitialised memory of at least `bytes_per_lane` bytes per lane, rounded up to
    /// words of eight bytes.
    pub fn reset(&mut self, bytes_per_lane: u32, lanes: usize) {
        self.bytes_per_lane = bytes_per_lane.next_multiple_of(8);
        let all = self.bytes_per_lane as usize * lanes;
        self.words.clear();
        self.words.resize(all / 8, undefined::DOUBLE);
        self.init.clear();
        self.init.resize(all, 0);
    }

    /// Returns the host memory that it takes, in bytes.
    pub fn host_bytes(&self) -> usize {
        size_of_val(&self.words[..]) + self.init.len()
    }

    /// Returns the bytes of all lanes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the words have this number of bytes, and every byte value is valid.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), 8 * self.words.len()) }
    }
}

/// Returns the part of an access that lies in the `memory` bytes of a lane. An address in the upper
/// half of the 32 bits is a negative one.
pub fn part(memory: usize, address: u32, bytes: u32) -> Option<Part> {
    Part::of(0..memory as u64, i64::from(address as i32) as u64, bytes.into())
}

/// Returns the lanes whose access is allowed, and those of which only a [`part`] is. Reports
/// invalid accesses, and marks written bytes as initialised.
///
/// # Errors
/// Says why if the stack is too small, which is not reported.
pub fn check(
    wave: &mut Wave,
    env: &Env<'_>,
    form: &Form,
    mask: u64,
    addresses: &[u32; LANES],
) -> Result<(u64, u64), String> {
    let &Form { access, bytes, align, .. } = form;
    let stride = wave.private.bytes_per_lane as usize;
    let (mut lanes, mut clipped) = (mask, 0);
    let mut wrong: Option<(FindingKind, usize, &str)> = None;
    for lane in lanes_of(mask).map(|lane| lane as usize) {
        let at = addresses[lane & 63] as usize;
        let mut inside = at..at + bytes as usize;
        if inside.end > stride {
            lanes &= !(1 << lane);
            let part = part(stride, addresses[lane & 63], bytes).filter(|_| access != Access::Atomic);
            clipped |= u64::from(part.is_some() || !access.writes()) << lane;
            let Some(part) = part else {
                wrong.get_or_insert((FindingKind::OutOfBounds, lane, "lies outside"));
                continue;
            };
            wrong.get_or_insert((FindingKind::OutOfBounds, lane, "lies partly outside"));
            inside = part.address as usize..part.address as usize + part.bytes;
        }
        // Other accesses may be at any address, as in global memory.
        if access == Access::Atomic && !at.is_multiple_of(align as usize) {
            wrong.get_or_insert((FindingKind::Misaligned, lane, "is misaligned"));
            lanes &= !(1 << lane);
            continue;
        }
        let init = &mut wave.private.init[lane * stride..][inside];
        if access.reads() && init.contains(&0) {
            wrong.get_or_insert((FindingKind::UninitialisedRead, lane, "reads uninitialised memory"));
        }
        if access.writes() {
            init.fill(1);
        }
    }
    if let Some((kind, lane, what)) = wrong {
        if let Some(why) = overflow(wave, env, mask & !lanes, addresses, bytes) {
            return Err(why);
        }
        tell(wave, env, kind, lane, i64::from(addresses[lane & 63] as i32), bytes, what);
    }
    Ok((lanes, clipped))
}

/// Says why the stack of a wave is too small for accesses of these lanes, which are not allowed.
///
/// A card has nothing that stops a thread at the end of its stack, and goes on with the frame and
/// the return address of another. The simulated wave stops instead. An access outside while most of
/// the stack is free is not an overflow, but an ordinary finding.
#[cold]
fn overflow(wave: &Wave, env: &Env<'_>, lanes: u64, addresses: &[u32; LANES], bytes: u32) -> Option<String> {
    let size = wave.private.bytes_per_lane;
    let outside = |lane: &u32| addresses[*lane as usize & 63].saturating_add(bytes) > size;
    let lane = lanes_of(lanes).find(outside).filter(|_| wave.private.stack)?;
    // gfx90a accesses its stack through a buffer, whose offsets count the bytes of all lanes.
    let scale = if env.program.arch == Arch::Gfx90a { wave.width as u32 } else { 1 };
    let top = wave.word(STACK_POINTER) / scale;
    if top < size / 2 {
        return None;
    }
    let thread = env.describe.thread(&wave.place(env), lane);
    Some(format!("stack overflow: {top} of {size} bytes of private memory are in use (hipLimitStackSize), {thread}"))
}

#[cold]
fn tell(wave: &Wave, env: &Env<'_>, kind: FindingKind, lane: usize, offset: i64, bytes: u32, what: &str) {
    let instruction = env.describe.instruction(wave.site());
    let thread = env.describe.thread(&wave.place(env), lane as u32);
    let buffer = format!("private memory of {} bytes", wave.private.bytes_per_lane);
    env.launch.findings().push(Finding {
        kind,
        kernel: env.launch.kernel().to_owned(),
        message: format!("{instruction}, {thread}: an access of {bytes} bytes at byte {offset} of the {buffer} {what}"),
        instruction,
        thread,
        buffer,
        offset,
    });
}

impl Private {
    /// Sets its bytes and marks them as written, for tests.
    #[doc(hidden)]
    pub fn fill(&mut self, bytes: &[u8]) {
        self.bytes_mut().copy_from_slice(bytes);
        self.init.fill(1);
    }
}

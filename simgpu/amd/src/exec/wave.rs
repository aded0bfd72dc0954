//! A wave: its registers, and its environment.

use super::memory::Private;
use super::observed::Partial;
use super::program::Program;
use super::row::Row;
use crate::isa::sreg;
use crate::service::HostCalls;
use isobit_simgpu_core::check::{Describe, Launch, Place, SiteCache};
use isobit_simgpu_core::coverage::Marks;
use isobit_simgpu_core::local::Local;

/// The number of vector registers of a wave: 256, followed by the 256 accumulation registers.
const ROWS: usize = 512;
/// The number of rows for operands that a step prepares.
const OPERAND_ROWS: usize = super::value::MAX_ROWS;

/// The registers of one wave.
#[derive(Debug)]
pub struct Wave {
    /// The number of lanes: 32 or 64.
    pub width: usize,
    /// Scalar registers, at the positions that [`sreg`] names. EXEC is only written through
    /// [`set_exec`](Self::set_exec).
    pub s: [u32; 128],
    /// The scalar condition.
    pub scc: bool,
    /// Vector registers.
    pub v: Box<[Row; ROWS]>,
    /// EXEC, spread to lanes: all ones in active lanes.
    pub active: Row,
    /// The step that runs next.
    pub next: usize,
    /// The lanes that exist; the last wave of a group may have fewer than all.
    pub live: u64,
    /// The wave's index in its group.
    pub wave: u32,
    /// The number of barriers it has passed.
    pub epoch: u32,
    /// Private memory of its threads.
    pub private: Private,
    /// Barriers at which only some of its lanes were, and which the others may go around.
    pub partial: Vec<Partial>,
    pub(super) operands: Box<[Row; OPERAND_ROWS]>,
}

impl Wave {
    /// Creates a wave whose registers are all zero.
    pub fn new() -> Self {
        Self {
            width: 64,
            s: [0; 128],
            scc: false,
            v: Box::new([Row::splat(0); ROWS]),
            active: Row::splat(0),
            next: 0,
            live: 0,
            wave: 0,
            epoch: 0,
            private: Private::default(),
            partial: Vec::new(),
            operands: Box::new([Row::splat(0); OPERAND_ROWS]),
        }
    }

    /// Returns the active lanes.
    #[inline(always)]
    pub fn exec(&self) -> u64 {
        self.pair(sreg::EXEC_LO)
    }

    /// Sets the active lanes.
    #[inline(always)]
    pub fn set_exec(&mut self, lanes: u64) {
        self.s[usize::from(sreg::EXEC_LO)] = lanes as u32;
        self.s[usize::from(sreg::EXEC_HI)] = (lanes >> 32) as u32;
        let lanes = if self.width == 64 { lanes } else { lanes & 0xffff_ffff };
        self.active.spread(lanes);
    }

    /// Returns a scalar register.
    #[inline(always)]
    pub fn word(&self, at: u8) -> u32 {
        self.s[usize::from(at) & 127]
    }

    /// Returns a pair of scalar registers.
    #[inline(always)]
    pub fn pair(&self, at: u8) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at.wrapping_add(1))) << 32
    }

    /// Writes a scalar register. A write to EXEC changes the active lanes, a write to NULL is
    /// ignored.
    #[inline(always)]
    pub fn set_word(&mut self, at: u8, word: u32) {
        match at {
            sreg::NULL => {}
            sreg::EXEC_LO => self.set_exec(self.exec() & !0xffff_ffff | u64::from(word)),
            sreg::EXEC_HI => self.set_exec(self.exec() & 0xffff_ffff | u64::from(word) << 32),
            _ => self.s[usize::from(at) & 127] = word,
        }
    }

    /// Writes a pair of scalar registers.
    #[inline(always)]
    pub fn set_pair(&mut self, at: u8, pair: u64) {
        match at {
            sreg::EXEC_LO => self.set_exec(pair),
            sreg::NULL => {}
            _ => {
                self.s[usize::from(at) & 127] = pair as u32;
                self.s[usize::from(at + 1) & 127] = (pair >> 32) as u32;
            }
        }
    }

    /// Returns one bit per lane: one register in 32-lane waves, a pair in 64-lane waves.
    #[inline(always)]
    pub fn mask(&self, at: u8) -> u64 {
        if self.width == 64 { self.pair(at) } else { self.word(at).into() }
    }

    /// Writes one bit per lane.
    #[inline(always)]
    pub fn set_mask(&mut self, at: u8, bits: u64) {
        if self.width == 64 { self.set_pair(at, bits) } else { self.set_word(at, bits as u32) }
    }
}

impl Wave {
    /// Returns its place in the launch, for checks.
    #[inline(always)]
    pub fn place(&self, env: &Env<'_>) -> Place {
        Place { group: env.group, wave: self.wave, epoch: self.epoch }
    }

    /// Returns the running step, which is the site for checks.
    #[inline(always)]
    pub fn site(&self) -> u32 {
        self.next as u32 - 1
    }
}

impl Default for Wave {
    fn default() -> Self {
        Self::new()
    }
}

/// The number of cache slots for the allocations that instructions accessed last.
pub const SITE_CACHES: usize = 256;

/// The environment of a wave.
pub struct Env<'a> {
    /// The code.
    pub program: &'a Program,
    /// The launch, which checks accesses to global memory.
    pub launch: &'a Launch<'a>,
    /// The memory of the group.
    pub local: &'a mut Local,
    /// Caches of the allocations that instructions accessed last, by the low bits of their step.
    pub caches: &'a mut [SiteCache; SITE_CACHES],
    /// Names for findings.
    pub describe: &'a dyn Describe,
    /// The group's linear index.
    pub group: u32,
    /// The high half of the address through which generic pointers reach group memory.
    pub shared_aperture: u32,
    /// The high half of the address through which generic pointers reach private memory.
    pub private_aperture: u32,
    /// A clock that only increases.
    pub clock: &'a std::sync::atomic::AtomicU64,
    /// The host's side of calls from this launch, if its kernel may make them.
    pub host_calls: Option<&'a HostCalls<'a>>,
    /// Backward jumps after which a wave's turn ends, if it does not end earlier.
    pub patience: u32,
    /// Whether what the waves do to memory is watched (see
    /// [`Turn::watched`](isobit_simgpu_core::schedule::Turn::watched)).
    pub watched: bool,
    /// The marks of the steps that run, if they are wanted.
    pub coverage: Option<&'a Marks>,
    /// Why a step returned [`Flow::Fault`](super::Flow::Fault), if the program does not have the
    /// reason.
    pub fault: Option<String>,
}

//! The simulated cards, as far as PTX distinguishes them.

use crate::exec::row::LANES;
use crate::module::Kernel;

/// A card's architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// Turing.
    Sm75,
    /// Ampere.
    Sm80,
    /// Hopper.
    Sm90,
}

impl Arch {
    /// All architectures.
    pub const ALL: [Self; 3] = [Self::Sm75, Self::Sm80, Self::Sm90];

    /// Returns the PTX name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sm75 => "sm_75",
            Self::Sm80 => "sm_80",
            Self::Sm90 => "sm_90",
        }
    }

    /// Returns the compute capability, major and minor.
    pub fn compute_capability(self) -> (u32, u32) {
        match self {
            Self::Sm75 => (7, 5),
            Self::Sm80 => (8, 0),
            Self::Sm90 => (9, 0),
        }
    }

    /// Returns the card's multiprocessors.
    pub const fn multiprocessors(self) -> Multiprocessors {
        match self {
            Self::Sm75 => {
                Multiprocessors { count: 40, threads: 1024, blocks: 16, shared: 64 << 10, unit: 256, reserved: 0 }
            }
            Self::Sm80 => {
                Multiprocessors { count: 108, threads: 2048, blocks: 32, shared: 164 << 10, unit: 128, reserved: 1024 }
            }
            Self::Sm90 => {
                Multiprocessors { count: 132, threads: 2048, blocks: 32, shared: 228 << 10, unit: 128, reserved: 1024 }
            }
        }
    }

    /// Returns the maximum bytes of shared memory per block, including the opt-in part.
    pub fn shared_bytes(self) -> u32 {
        match self {
            Self::Sm75 => 64 << 10,
            Self::Sm80 => 163 << 10,
            Self::Sm90 => 227 << 10,
        }
    }
}

/// The multiprocessors of a card, which limit how many blocks it holds at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multiprocessors {
    /// Their number.
    pub count: u32,
    /// Threads that each holds.
    pub threads: u32,
    /// Blocks that each holds.
    pub blocks: u32,
    /// Bytes of shared memory of each, including the bytes that the system reserves per block.
    pub shared: u32,
    /// The number of bytes in units of which blocks get shared memory, as in NVIDIA's
    /// `cuda_occupancy.h`.
    pub unit: u32,
    /// The bytes that the system reserves per block.
    pub reserved: u32,
}

impl Multiprocessors {
    /// Returns the number of blocks that the shared memory of a multiprocessor allows.
    pub fn blocks_by_shared(&self, kernel: &Kernel, dynamic: usize) -> u32 {
        let each = kernel.shared_bytes as usize + dynamic + self.reserved as usize;
        let each = each.next_multiple_of(self.unit as usize);
        (self.shared as usize).checked_div(each).map_or(u32::MAX, |blocks| blocks as u32)
    }

    /// Returns the number of blocks of `threads` threads that the card holds at a time. Registers
    /// are not considered: only NVIDIA's assembler knows how many a kernel needs.
    pub fn resident(&self, kernel: &Kernel, threads: u32, dynamic: u32) -> u64 {
        let by_threads = self.threads / threads.next_multiple_of(LANES as u32).max(1);
        let each = by_threads.min(self.blocks).min(self.blocks_by_shared(kernel, dynamic as usize));
        u64::from(self.count) * u64::from(each.max(1))
    }
}

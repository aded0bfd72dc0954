//! The simulated cards, described as the real cards describe themselves.

use isobit_simgpu_nvidia::arch::{Arch, Multiprocessors};

/// Name and sizes of a card. Sources: NVIDIA's data sheets and architecture white papers, the table
/// of compute capabilities in the CUDA programming guide, and what the driver reports for such
/// cards.
#[derive(Debug)]
pub(crate) struct Card {
    pub(crate) arch: Arch,
    pub(crate) name: &'static str,
    pub(crate) multiprocessors: Multiprocessors,
    pub(crate) l2_bytes: i32,
    /// In kHz.
    pub(crate) clock_khz: i32,
    pub(crate) memory_clock_khz: i32,
    /// In bits.
    pub(crate) memory_bus: i32,
    /// Ratio of single-precision to double-precision throughput.
    pub(crate) single_to_double: i32,
    /// Bytes of L2 cache that can be set aside for persisting accesses, and the largest
    /// access-policy window.
    pub(crate) persisting_l2: i32,
    pub(crate) access_window: i32,
}

/// Bytes of shared memory that a block gets without opting in to more.
pub(crate) const SHARED_PER_BLOCK: u32 = 48 << 10;

/// 32-bit registers per multiprocessor.
pub(crate) const REGISTERS: u32 = 65536;

/// Lanes per warp.
pub(crate) const WARP: u32 = 32;

/// Maximum threads per block along each dimension.
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// Maximum blocks per grid along each dimension.
pub(crate) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

const TESLA_T4: Card = Card {
    arch: Arch::Sm75,
    name: "Tesla T4",
    multiprocessors: Arch::Sm75.multiprocessors(),
    l2_bytes: 4 << 20,
    clock_khz: 1_590_000,
    memory_clock_khz: 5_001_000,
    memory_bus: 256,
    single_to_double: 32,
    persisting_l2: 0,
    access_window: 0,
};

const A100: Card = Card {
    arch: Arch::Sm80,
    name: "NVIDIA A100-SXM4-80GB",
    multiprocessors: Arch::Sm80.multiprocessors(),
    l2_bytes: 40 << 20,
    clock_khz: 1_410_000,
    memory_clock_khz: 1_593_000,
    memory_bus: 5120,
    single_to_double: 2,
    persisting_l2: 30 << 20,
    access_window: 134_213_632,
};

const H200: Card = Card {
    arch: Arch::Sm90,
    name: "NVIDIA H200",
    multiprocessors: Arch::Sm90.multiprocessors(),
    l2_bytes: 60 << 20,
    clock_khz: 1_980_000,
    memory_clock_khz: 3_201_000,
    memory_bus: 6016,
    single_to_double: 2,
    persisting_l2: 39_321_600,
    access_window: 134_217_728,
};

/// Returns the card of an architecture.
pub(crate) const fn card(arch: Arch) -> &'static Card {
    match arch {
        Arch::Sm75 => &TESLA_T4,
        Arch::Sm80 => &A100,
        Arch::Sm90 => &H200,
    }
}

//! The simulated cards, with the properties that real cards report.

use isobit_simgpu_amd::dispatch::Units;
use isobit_simgpu_amd::isa::Arch;

/// A card's name and sizes. Sources: AMD's data sheets and instruction set documents, and what HIP
/// reports for these cards.
#[derive(Debug)]
pub(crate) struct Card {
    pub(crate) arch: Arch,
    pub(crate) name: &'static str,
    /// The architecture with the target's feature settings, which selects the code object.
    pub(crate) gcn_arch_name: &'static str,
    pub(crate) major: i32,
    pub(crate) minor: i32,
    /// What HIP counts as multiprocessors.
    pub(crate) units: Units,
    /// The number of compute units.
    pub(crate) compute_units: i32,
    pub(crate) l2_bytes: i32,
    /// Shader clock in kHz.
    pub(crate) clock_khz: i32,
    pub(crate) memory_clock_khz: i32,
    /// The width of the memory bus in bits.
    pub(crate) memory_bus: i32,
    pub(crate) ecc: bool,
    /// The clock that kernels can read, in kHz.
    pub(crate) wall_clock_khz: i32,
}

/// The largest number of threads in a work group.
pub(crate) const MAX_THREADS: u32 = 1024;

/// The largest local memory of a work group, in bytes.
pub(crate) const LOCAL_BYTES_PER_GROUP: u32 = 65536;

const MI210: Card = Card {
    arch: Arch::Gfx90a,
    name: "AMD Instinct MI210",
    gcn_arch_name: "gfx90a:sramecc+:xnack-",
    major: 9,
    minor: 0,
    units: Arch::Gfx90a.units(),
    compute_units: 104,
    l2_bytes: 8 << 20,
    clock_khz: 1_700_000,
    memory_clock_khz: 1_600_000,
    memory_bus: 4096,
    ecc: true,
    wall_clock_khz: 25_000,
};

const MI300X: Card = Card {
    arch: Arch::Gfx942,
    name: "AMD Instinct MI300X",
    gcn_arch_name: "gfx942:sramecc+:xnack-",
    major: 9,
    minor: 4,
    units: Arch::Gfx942.units(),
    compute_units: 304,
    l2_bytes: 4 << 20,
    clock_khz: 2_100_000,
    memory_clock_khz: 1_300_000,
    memory_bus: 8192,
    ecc: true,
    wall_clock_khz: 100_000,
};

const RX_7900_XTX: Card = Card {
    arch: Arch::Gfx1100,
    name: "AMD Radeon RX 7900 XTX",
    gcn_arch_name: "gfx1100",
    major: 11,
    minor: 0,
    units: Arch::Gfx1100.units(),
    compute_units: 96,
    l2_bytes: 6 << 20,
    clock_khz: 2_482_000,
    memory_clock_khz: 1_249_000,
    memory_bus: 384,
    ecc: false,
    wall_clock_khz: 100_000,
};

/// Returns the card of an architecture.
pub(crate) const fn card(arch: Arch) -> &'static Card {
    match arch {
        Arch::Gfx90a => &MI210,
        Arch::Gfx942 => &MI300X,
        Arch::Gfx1100 => &RX_7900_XTX,
    }
}

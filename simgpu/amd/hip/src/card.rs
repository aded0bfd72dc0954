//! The simulated cards, with the properties that real cards report.

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
    /// What HIP counts as multiprocessors: compute units, or pairs of them on RDNA.
    pub(crate) multiprocessors: i32,
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
    /// The number of vector registers per SIMD for one lane, and the allocation granularity per
    /// wave.
    pub(crate) vgprs_per_simd: u32,
    pub(crate) vgpr_step: u32,
    /// The number of scalar registers per SIMD. `None` on RDNA, where each wave has a fixed number,
    /// so they do not limit occupancy.
    pub(crate) sgprs_per_simd: Option<u32>,
    /// The number of SIMDs in what HIP counts as a multiprocessor.
    pub(crate) simds: u32,
    /// The number of waves that a SIMD can hold.
    pub(crate) waves_per_simd: u32,
    /// The local memory of a multiprocessor, in bytes.
    pub(crate) local_bytes: u32,
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
    multiprocessors: 104,
    compute_units: 104,
    l2_bytes: 8 << 20,
    clock_khz: 1_700_000,
    memory_clock_khz: 1_600_000,
    memory_bus: 4096,
    ecc: true,
    wall_clock_khz: 25_000,
    vgprs_per_simd: 512,
    vgpr_step: 8,
    sgprs_per_simd: Some(800),
    simds: 4,
    waves_per_simd: 8,
    local_bytes: 65536,
};

const MI300X: Card = Card {
    arch: Arch::Gfx942,
    name: "AMD Instinct MI300X",
    gcn_arch_name: "gfx942:sramecc+:xnack-",
    major: 9,
    minor: 4,
    multiprocessors: 304,
    compute_units: 304,
    l2_bytes: 4 << 20,
    clock_khz: 2_100_000,
    memory_clock_khz: 1_300_000,
    memory_bus: 8192,
    ecc: true,
    wall_clock_khz: 100_000,
    vgprs_per_simd: 512,
    vgpr_step: 8,
    sgprs_per_simd: Some(800),
    simds: 4,
    waves_per_simd: 8,
    local_bytes: 65536,
};

const RX_7900_XTX: Card = Card {
    arch: Arch::Gfx1100,
    name: "AMD Radeon RX 7900 XTX",
    gcn_arch_name: "gfx1100",
    major: 11,
    minor: 0,
    multiprocessors: 48,
    compute_units: 96,
    l2_bytes: 6 << 20,
    clock_khz: 2_482_000,
    memory_clock_khz: 1_249_000,
    memory_bus: 384,
    ecc: false,
    wall_clock_khz: 100_000,
    vgprs_per_simd: 1536,
    vgpr_step: 24,
    sgprs_per_simd: None,
    simds: 4,
    waves_per_simd: 16,
    local_bytes: 131_072,
};

/// Returns the card of an architecture.
pub(crate) const fn card(arch: Arch) -> &'static Card {
    match arch {
        Arch::Gfx90a => &MI210,
        Arch::Gfx942 => &MI300X,
        Arch::Gfx1100 => &RX_7900_XTX,
    }
}

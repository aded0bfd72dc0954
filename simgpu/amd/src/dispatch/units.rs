//! The units of a card that hold groups, and how many groups they hold.

use super::LDS_UNIT;
use crate::isa::Arch;
use crate::loader::Kernel;

/// The units of a card: compute units, or pairs of them on RDNA, which HIP counts as
/// multiprocessors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// Their number.
    pub count: u32,
    /// The number of SIMDs of each.
    pub simds: u32,
    /// The number of waves that a SIMD holds.
    pub waves_per_simd: u32,
    /// The number of lanes of a wave.
    pub lanes: u32,
    /// The local memory of each, in bytes.
    pub local_bytes: u32,
    /// The number of vector registers per SIMD for one lane, and the allocation granularity per
    /// wave.
    pub vgprs_per_simd: u32,
    /// See `vgprs_per_simd`.
    pub vgpr_step: u32,
    /// The number of scalar registers per SIMD. `None` on RDNA, where each wave has a fixed number,
    /// so they do not limit how many a SIMD holds.
    pub sgprs_per_simd: Option<u32>,
}

const CDNA: Units = Units {
    count: 0,
    simds: 4,
    waves_per_simd: 8,
    lanes: Arch::Gfx90a.wave_size() as u32,
    local_bytes: 64 << 10,
    vgprs_per_simd: 512,
    vgpr_step: 8,
    sgprs_per_simd: Some(800),
};

impl Arch {
    /// Returns the units of the simulated card of this target.
    pub const fn units(self) -> Units {
        match self {
            Self::Gfx90a => Units { count: 104, ..CDNA },
            Self::Gfx942 => Units { count: 304, ..CDNA },
            Self::Gfx1100 => Units {
                count: 48,
                waves_per_simd: 16,
                lanes: self.wave_size() as u32,
                local_bytes: 128 << 10,
                vgprs_per_simd: 1536,
                vgpr_step: 24,
                sgprs_per_simd: None,
                ..CDNA
            },
        }
    }
}

impl Units {
    /// Returns the number of waves with these registers that a SIMD holds.
    pub fn waves(&self, vgprs: u32, sgprs: u32) -> u32 {
        let by_vgprs = self.vgprs_per_simd / vgprs.max(1).next_multiple_of(self.vgpr_step);
        let by_sgprs = self.sgprs_per_simd.map_or(u32::MAX, |all| all / sgprs.max(1).next_multiple_of(16));
        by_vgprs.min(by_sgprs).min(self.waves_per_simd)
    }

    /// Returns the number of threads of a kernel that registers and wave slots allow on a unit.
    pub fn threads(&self, kernel: &Kernel) -> u32 {
        self.simds * self.waves(kernel.vgprs, kernel.sgprs) * self.lanes
    }

    /// Returns the number of groups that local memory allows on a unit.
    pub fn groups_by_local(&self, kernel: &Kernel, dynamic: usize) -> u32 {
        let each = (kernel.lds_bytes as usize).saturating_add(dynamic).div_ceil(LDS_UNIT as usize);
        ((self.local_bytes / LDS_UNIT) as usize).checked_div(each).map_or(u32::MAX, |groups| groups as u32)
    }

    /// Returns the number of groups of `threads` threads that a unit holds at a time.
    pub fn groups(&self, kernel: &Kernel, threads: u32, dynamic: usize) -> u32 {
        let by_threads = self.threads(kernel) / threads.next_multiple_of(self.lanes).max(1);
        by_threads.min(self.groups_by_local(kernel, dynamic))
    }

    /// Returns the part of a unit's waves that run at a time, if groups have `threads` threads.
    pub fn occupancy(&self, kernel: &Kernel, threads: u32, dynamic: usize) -> f64 {
        let waves = self.groups(kernel, threads, dynamic) * threads.div_ceil(self.lanes);
        f64::from(waves) / f64::from(self.simds * self.waves_per_simd)
    }

    /// Returns the number of groups of `threads` threads that the card holds at a time.
    pub(super) fn resident(&self, kernel: &Kernel, threads: u32, dynamic: u32) -> u64 {
        u64::from(self.count) * u64::from(self.groups(kernel, threads, dynamic as usize).max(1))
    }
}

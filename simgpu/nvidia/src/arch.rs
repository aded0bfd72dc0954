//! The simulated cards, as far as PTX distinguishes them.

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

    /// Returns the number of bytes in units of which blocks get shared memory, as in NVIDIA's
    /// `cuda_occupancy.h`.
    pub fn shared_unit(self) -> u32 {
        match self {
            Self::Sm75 => 256,
            Self::Sm80 | Self::Sm90 => 128,
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

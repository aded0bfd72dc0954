//! The cards that are simulated, by what PTX knows of them.

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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sm75, Self::Sm80, Self::Sm90];

    /// The name that PTX has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sm75 => "sm_75",
            Self::Sm80 => "sm_80",
            Self::Sm90 => "sm_90",
        }
    }

    /// The compute capability, major and minor.
    pub fn compute_capability(self) -> (u32, u32) {
        match self {
            Self::Sm75 => (7, 5),
            Self::Sm80 => (8, 0),
            Self::Sm90 => (9, 0),
        }
    }

    /// Bytes of shared memory that a block may have at most, with what it must opt in for.
    pub fn shared_bytes(self) -> u32 {
        match self {
            Self::Sm75 => 64 << 10,
            Self::Sm80 => 163 << 10,
            Self::Sm90 => 227 << 10,
        }
    }
}

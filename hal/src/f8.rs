//! The 8-bit float of the OCP specification.

/// OCP e4m3fn: a sign, four exponent bits (bias 7), three of significand; no infinities, `S.1111.111` is NaN, the largest value is 448.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct F8E4M3(u8);

impl F8E4M3 {
    /// From its bits.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Its bits.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The exact value.
    pub fn to_f32(self) -> f32 {
        let (exponent, significand) = (i32::from(self.0 >> 3 & 15), f32::from(self.0 & 7));
        let magnitude = match (exponent, self.0 & 7) {
            (15, 7) => f32::NAN,
            (0, _) => significand / 512.0,
            _ => (1.0 + significand / 8.0) * 2f32.powi(exponent - 7),
        };
        if self.0 & 0x80 != 0 { -magnitude } else { magnitude }
    }
}

impl PartialEq for F8E4M3 {
    fn eq(&self, other: &Self) -> bool {
        self.to_f32() == other.to_f32()
    }
}

impl PartialOrd for F8E4M3 {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

impl std::fmt::Debug for F8E4M3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.to_f32(), f)
    }
}

impl std::fmt::Display for F8E4M3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.to_f32(), f)
    }
}

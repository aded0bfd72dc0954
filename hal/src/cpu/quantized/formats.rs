//! The twelve formats by their names.

use super::bytes::{Bytes, SuperBytes};
use super::packed::Packed;
use super::sixteens::{Sixes, Threes, Twos};
use super::thirty_twos::Fours;

pub(super) type Q4_0 = Packed<16, false>;
pub(super) type Q4_1 = Packed<16, true>;
pub(super) type Q5_0 = Packed<32, false>;
pub(super) type Q5_1 = Packed<32, true>;
pub(super) type Q8_0 = Bytes<false>;
pub(super) type Q8_1 = Bytes<true>;
pub(super) type Q2K = Twos;
pub(super) type Q3K = Threes;
pub(super) type Q4K = Fours<false>;
pub(super) type Q5K = Fours<true>;
pub(super) type Q6K = Sixes;
pub(super) type Q8K = SuperBytes;

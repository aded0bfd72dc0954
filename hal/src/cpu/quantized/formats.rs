//! The formats by name.

use super::k_quants_32::Q4KOrQ5K;
use super::legacy_quants::LegacyQuant;
use super::q8::Q8;

pub(super) use super::fp4::{MXFP4, NVFP4};
pub(super) use super::iq1::{IQ1M, IQ1S};
pub(super) use super::iq2::{IQ2S, IQ2XS, IQ2XXS};
pub(super) use super::iq3::{IQ3S, IQ3XXS};
pub(super) use super::iq4::{IQ4NL, IQ4XS};
pub(super) use super::k_quants_16::{Q2K, Q3K, Q6K};
pub(super) use super::q8::Q8K;
pub(super) use super::ternary::{TQ1_0, TQ2_0};

pub(super) type Q4_0 = LegacyQuant<16, false>;
pub(super) type Q4_1 = LegacyQuant<16, true>;
pub(super) type Q5_0 = LegacyQuant<32, false>;
pub(super) type Q5_1 = LegacyQuant<32, true>;
pub(super) type Q8_0 = Q8<false>;
pub(super) type Q8_1 = Q8<true>;
pub(super) type Q4K = Q4KOrQ5K<false>;
pub(super) type Q5K = Q4KOrQ5K<true>;

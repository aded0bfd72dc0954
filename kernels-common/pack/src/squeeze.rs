//! Compression as good as it gets: a release is packed once and downloaded often.

use anyhow::{Context, Result};
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

const LEVEL: i32 = 19;

/// A larger one pays for itself no more.
const DICTIONARY: usize = 512 << 10;

/// What the dictionary is trained on: kernels differ in pieces, so whole modules would say little.
const SAMPLE: usize = 16 << 10;

/// A dictionary of what modules have in common.
pub fn dictionary<'a>(modules: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
    let samples: Vec<&[u8]> = modules.flat_map(|module| module.chunks(SAMPLE)).collect();
    zstd::dict::from_samples(&samples, DICTIONARY).context("no dictionary can be trained")
}

/// One frame. Its window holds all of it, as the dictionary can be referred to no longer than that.
pub fn frame(bytes: &[u8], dictionary: &[u8]) -> Result<Vec<u8>> {
    let mut compressor = Compressor::with_dictionary(LEVEL, dictionary)?;
    let window = (bytes.len() + dictionary.len()).next_power_of_two().ilog2();
    compressor.set_parameter(CParameter::WindowLog(window.max(20)))?;
    compressor.compress(bytes).context("compressing in memory does not fail")
}

//! Compresses at the highest level: a release is packed once and downloaded often.

use anyhow::{Context, Result};
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

const LEVEL: i32 = 19;

/// A larger dictionary costs more than it saves.
const DICTIONARY: usize = 512 << 10;

/// The size of the pieces that the dictionary is trained on. Kernels differ in small parts, so
/// whole modules would be poor samples.
const SAMPLE: usize = 16 << 10;

/// Trains a dictionary on the common content of modules.
pub fn dictionary<'a>(modules: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
    let samples: Vec<&[u8]> = modules.flat_map(|module| module.chunks(SAMPLE)).collect();
    zstd::dict::from_samples(&samples, DICTIONARY).context("cannot train a dictionary")
}

/// Compresses one frame. Its window covers the whole frame, because the dictionary can be
/// referenced only within the window.
pub fn frame(bytes: &[u8], dictionary: &[u8]) -> Result<Vec<u8>> {
    let mut compressor = Compressor::with_dictionary(LEVEL, dictionary)?;
    let window = (bytes.len() + dictionary.len()).next_power_of_two().ilog2();
    compressor.set_parameter(CParameter::WindowLog(window.max(20)))?;
    compressor.compress(bytes).context("compressing in memory does not fail")
}

//! The angles by which rotary position embedding turns queries and keys.

use crate::Config;
use isobit::{BackendDevice, DType, Layout, Result};
use isobit_examples::memory::upload;

/// Their cosines and sines, at every position of a sequence.
#[derive(Debug)]
pub(crate) struct Rotation<S> {
    pub(crate) cos: S,
    pub(crate) sin: S,
    /// `[positions, head_size / 2]`, of both.
    pub(crate) layout: Layout,
}

impl<S> Rotation<S> {
    /// Creates the tables of a number of positions.
    pub(crate) fn new<D: BackendDevice<Storage = S>>(
        device: &D,
        config: &Config,
        dtype: DType,
        positions: usize,
    ) -> Result<Self> {
        let half = config.head_size / 2;
        let angle = |i: usize| (i / half) as f64 * config.theta.powf(-((i % half) as f64) / half as f64);
        let table = |f: fn(f64) -> f64| -> Vec<f32> { (0..positions * half).map(|i| f(angle(i)) as f32).collect() };
        Ok(Self {
            cos: upload(device, &table(f64::cos), dtype)?,
            sin: upload(device, &table(f64::sin), dtype)?,
            layout: Layout::contiguous([positions, half]),
        })
    }
}

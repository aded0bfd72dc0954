//! Parameters of norms.

/// Layer normalization (Ba, Kiros and Hinton 2016,
/// [arXiv:1607.06450](https://arxiv.org/abs/1607.06450)) over the last dimension: `(x - mean(x)) /
/// sqrt(variance(x) + eps) * weight + bias`. The variance divides by the number of elements. `weight`
/// and `bias` have one dimension, of the same size; there may be both, one of them or none.
///
/// A weight that is absent counts as 1 and a bias that is absent as +0: the bits are those of the
/// operation with a weight of ones and a bias of zeros.
/// [`Op::LayerNormStats`](super::Op::LayerNormStats) gives the mean and the factor of each row.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, LayerNorm, Op};
/// let l = Layout::contiguous(2);
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 5.0])?; // mean 3, variance 4
/// let weight = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
/// let bias = CpuDevice.storage_from_slice(&[0.0f32, 10.0])?;
/// let y = x.layer_norm(&l, &weight, &l, &bias, &l, 0.0)?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 12.0]);
/// let plain = Op::LayerNorm(LayerNorm::new(0.0).with_inputs(false, false));
/// assert_eq!(CpuStorage::apply(&plain, &[(&x, &l)])?.to_vec::<f32>()?, [-1.0, 1.0]);
/// let weighted = Op::LayerNorm(LayerNorm::new(0.0).with_inputs(true, false));
/// let y = CpuStorage::apply(&weighted, &[(&x, &l), (&weight, &l)])?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 2.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LayerNorm {
    /// Added under the root, so that the divisor is not 0.
    pub eps: f64,
    /// Whether there is a weight, as the second input.
    pub has_weight: bool,
    /// Whether there is a bias, as the last input.
    pub has_bias: bool,
}

impl LayerNorm {
    /// Creates a norm with a weight and a bias.
    pub const fn new(eps: f64) -> Self {
        Self { eps, has_weight: true, has_bias: true }
    }

    /// Sets which inputs there are beside the source.
    pub const fn with_inputs(mut self, weight: bool, bias: bool) -> Self {
        self.has_weight = weight;
        self.has_bias = bias;
        self
    }

    /// The number of inputs.
    pub(crate) const fn inputs(&self) -> usize {
        1 + self.has_weight as usize + self.has_bias as usize
    }

    /// The operation's name.
    pub(crate) const fn name(&self) -> &'static str {
        match (self.has_weight, self.has_bias) {
            (true, true) => "layer_norm",
            (true, false) => "layer_norm_weight",
            (false, true) => "layer_norm_bias",
            (false, false) => "layer_norm_plain",
        }
    }
}

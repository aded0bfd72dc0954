//! Parameters of norms.

/// What norms with an optional weight and bias have in common, after `$others` other inputs. The
/// names of the forms are the operation's with what there is of both.
macro_rules! parameters {
    ($norm:ident, $others:literal, $name:literal) => {
        impl $norm {
            /// Sets which inputs there are beside the others.
            pub const fn with_inputs(mut self, weight: bool, bias: bool) -> Self {
                self.has_weight = weight;
                self.has_bias = bias;
                self
            }

            /// The number of inputs.
            pub(crate) const fn inputs(&self) -> usize {
                $others + self.has_weight as usize + self.has_bias as usize
            }

            /// The operation's name.
            pub(crate) const fn name(&self) -> &'static str {
                match (self.has_weight, self.has_bias) {
                    (true, true) => $name,
                    (true, false) => concat!($name, "_weight"),
                    (false, true) => concat!($name, "_bias"),
                    (false, false) => concat!($name, "_plain"),
                }
            }
        }
    };
}

/// Layer normalization (Ba, Kiros and Hinton 2016,
/// [arXiv:1607.06450](https://arxiv.org/abs/1607.06450)) over the last dimension: `(x - mean(x)) /
/// sqrt(variance(x) + eps) * weight + bias`. The variance divides by the number of elements.
/// `weight` and `bias` have one dimension, of the same size; there may be both, one of them or
/// none.
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
}
parameters!(LayerNorm, 1, "layer_norm");

/// Group normalization (Wu and He 2018, [arXiv:1803.08494](https://arxiv.org/abs/1803.08494)) of
/// `[n, c, ..]`: the channels are divided into groups of neighbours, and each group of each batch
/// element is normalized as a row of [`LayerNorm`] is. `weight` and `bias` have one element for
/// each channel; there may be both, one of them or none. As PyTorch's `group_norm`, and ONNX's
/// `GroupNormalization` from version 21 of its operators.
///
/// With as many groups as channels it is instance normalization (Ulyanov, Vedaldi and Lempitsky
/// 2016, [arXiv:1607.08022](https://arxiv.org/abs/1607.08022)).
///
/// The mean and the factor of each group are those that
/// [`Op::LayerNormStats`](super::Op::LayerNormStats) gives for the same elements as `[n, groups, c
/// / groups * ..]`, to the bit.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
/// // Two channels of two elements.
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 5.0, 2.0, 10.0])?;
/// let (l, c) = (Layout::contiguous((1, 2, 2)), Layout::contiguous(2));
/// let weight = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
/// let y = x.group_norm(&l, [Some((&weight, &c)), None], 2, 0.0)?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 1.0, -2.0, 2.0]);
/// assert_eq!(x.instance_norm(&l, [None, None], 0.0)?.to_vec::<f32>()?, [-1.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct GroupNorm {
    /// The number of groups, which divides the number of channels.
    pub groups: usize,
    /// Added under the root, so that the divisor is not 0.
    pub eps: f64,
    /// Whether there is a weight, as the second input.
    pub has_weight: bool,
    /// Whether there is a bias, as the last input.
    pub has_bias: bool,
}

impl GroupNorm {
    /// Creates a norm with a weight and a bias.
    pub const fn new(groups: usize, eps: f64) -> Self {
        Self { groups, eps, has_weight: true, has_bias: true }
    }
}
parameters!(GroupNorm, 1, "group_norm");

/// Batch normalization (Ioffe and Szegedy 2015,
/// [arXiv:1502.03167](https://arxiv.org/abs/1502.03167)) of `[n, c, ..]` with given statistics:
/// `(x - mean) / sqrt(variance + eps) * weight + bias`, in which every operand but `x` has one
/// element for each channel. `mean` and `variance` have the compute type: f64 for f64, else f32.
/// `weight` and `bias` have the dtype of `x`; there may be both, one of them or none. A weight that
/// is absent counts as 1 and a bias that is absent as +0.
///
/// [`batch_norm_train`](crate::BackendStorage::batch_norm_train) computes the statistics of a
/// batch, and updates running ones.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
/// // Two channels of two elements.
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 5.0, 2.0, 10.0])?;
/// let (l, c) = (Layout::contiguous((1, 2, 2)), &Layout::contiguous(2));
/// let mean = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
/// let variance = CpuDevice.storage_from_slice(&[4.0f32, 16.0])?;
/// let bias = CpuDevice.storage_from_slice(&[0.0f32, 5.0])?;
/// let y = x.batch_norm(&l, [(&mean, c), (&variance, c)], [None, Some((&bias, c))], 0.0)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 2.0, 5.0, 7.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BatchNorm {
    /// Added under the root, so that the divisor is not 0.
    pub eps: f64,
    /// Whether there is a weight, after the statistics.
    pub has_weight: bool,
    /// Whether there is a bias, as the last input.
    pub has_bias: bool,
}

impl BatchNorm {
    /// Creates a norm with a weight and a bias.
    pub const fn new(eps: f64) -> Self {
        Self { eps, has_weight: true, has_bias: true }
    }
}
parameters!(BatchNorm, 3, "batch_norm");

/// Local response normalization (Krizhevsky, Sutskever and Hinton 2012) of `[n, c, ..]`: `x / (k +
/// alpha / size * s)^beta`, with `s` the sum of the squares of the `before` channels before an
/// element, of the element and of the `after` channels after it, as far as they exist, and `size =
/// before + 1 + after`.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, LocalResponseNorm};
/// let x = CpuDevice.storage_from_slice(&[2.0f32, 2.0, 0.0])?; // three channels
/// let op = LocalResponseNorm::new(2, 2.0, 1.0, 0.0);
/// let y = x.local_response_norm(&Layout::contiguous((1, 3)), op)?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0 / 4.0, 2.0 / 8.0, 0.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LocalResponseNorm {
    /// Channels before an element whose squares count.
    pub before: usize,
    /// Channels after an element whose squares count.
    pub after: usize,
    /// The factor of the mean of the squares.
    pub alpha: f64,
    /// The exponent.
    pub beta: f64,
    /// Added to the mean of the squares.
    pub k: f64,
}

impl LocalResponseNorm {
    /// Creates a norm over `size` channels, at least 1. Of an even number, one more is before the
    /// element, as in PyTorch's `local_response_norm`.
    pub const fn new(size: usize, alpha: f64, beta: f64, k: f64) -> Self {
        Self { before: size / 2, after: size.saturating_sub(1) / 2, alpha, beta, k }
    }

    /// Sets how many channels count before and after an element. Of an even number, ONNX's `LRN`
    /// has one more after the element.
    pub const fn with_window(mut self, before: usize, after: usize) -> Self {
        self.before = before;
        self.after = after;
        self
    }

    /// The number of channels in a window that no end of the channels cuts.
    pub const fn size(&self) -> usize {
        self.before.saturating_add(self.after).saturating_add(1)
    }
}

//! Parameters of attention.

use crate::Numerics;

/// Attention: for each query, the average of the values with the weights `softmax(query key^T *
/// scale)`. As PyTorch's `scaled_dot_product_attention`, with the windows, the soft-cap and the
/// lengths of FlashAttention.
///
/// Shapes: query `[batch, heads, m, d]`, key and value `[batch, kv_heads, n, d]`, result `[batch,
/// heads, m, d]`. `heads` is a multiple of `kv_heads`, and neighbouring heads share one (grouped
/// queries). `d` is at most [`MAX_HEAD_SIZE`](Self::MAX_HEAD_SIZE). Then, if
/// [`has_mask`](Self::has_mask), a mask `[batch, heads, m, n]` of the same dtype; then, if
/// [`has_lengths`](Self::has_lengths), the number of keys of each batch entry: u32, `[batch]`.
///
/// Query `i` of `m` belongs to key `i + length - m`, where `length` is the number of keys: the last
/// query belongs to the last key, as in FlashAttention 2.1 and later. PyTorch's `is_causal` counts
/// from the first instead, which is the same if there are as many queries as keys. A query sees the
/// keys of its [window](Self::window_size_left) that exist and that the mask does not hide.
///
/// ```rust
/// # use isobit_hal::{Attention, BackendDevice, BackendStorage, CpuDevice, Layout};
/// let l = Layout::contiguous((1, 1, 2, 1)); // two tokens, heads of one element
/// let q = CpuDevice.storage_from_slice(&[0.0f32, 0.0])?;
/// let v = CpuDevice.storage_from_slice(&[2.0f32, 4.0])?;
/// let (all, pair) = (Attention::new(), [(&q, &l), (&v, &l)]);
/// let y = q.scaled_dot_product_attention(&l, pair, None, None, all)?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 3.0]);
/// let past = q.scaled_dot_product_attention(&l, pair, None, None, all.causal())?;
/// assert_eq!(past.to_vec::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Attention {
    /// What products of queries and keys are multiplied by; `None` is `1 / sqrt(d)`. At most 2^59
    /// in magnitude.
    pub scale: Option<f32>,
    /// How many keys before its own a query sees; `None` is all of them.
    pub window_size_left: Option<usize>,
    /// How many keys after its own a query sees; `None` is all of them, and 0 is causal attention.
    pub window_size_right: Option<usize>,
    /// Scores `s` become `cap * tanh(s / cap)`, before the mask is added. Positive, and
    /// at most 2^59.
    pub softcap: Option<f32>,
    /// Whether a mask is added to the scores; its elements of minus infinity hide keys.
    pub has_mask: bool,
    /// Whether each batch entry has its own number of keys. Keys after these do not count, whatever
    /// they are; a length beyond n counts as n.
    pub has_lengths: bool,
    /// Who computes it; `None` uses the device's default. [`Numerics::Vendor`] is cuDNN, for f16
    /// and bf16; all other attention is portable, and so is that of f32 with any numerics.
    pub numerics: Option<Numerics>,
}

impl Attention {
    /// The largest size of a head.
    pub const MAX_HEAD_SIZE: usize = 256;

    /// Creates attention to all keys, without a mask.
    pub const fn new() -> Self {
        Self {
            scale: None,
            window_size_left: None,
            window_size_right: None,
            softcap: None,
            has_mask: false,
            has_lengths: false,
            numerics: None,
        }
    }

    /// Hides the keys after that of the query.
    pub const fn causal(self) -> Self {
        self.with_window(None, Some(0))
    }

    /// Sets what products of queries and keys are multiplied by.
    pub const fn with_scale(mut self, scale: f32) -> Self {
        self.scale = Some(scale);
        self
    }

    /// Sets how many keys before and after its own a query sees.
    pub const fn with_window(mut self, left: Option<usize>, right: Option<usize>) -> Self {
        self.window_size_left = left;
        self.window_size_right = right;
        self
    }

    /// Sets the soft-cap of the scores.
    pub const fn with_softcap(mut self, cap: f32) -> Self {
        self.softcap = Some(cap);
        self
    }

    /// Sets which inputs there are beside query, key and value.
    pub const fn with_inputs(mut self, mask: bool, lengths: bool) -> Self {
        self.has_mask = mask;
        self.has_lengths = lengths;
        self
    }

    /// Sets the numerics.
    pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = Some(numerics);
        self
    }

    /// Returns the scale for heads of `d` elements.
    pub fn scale_of(&self, d: usize) -> f32 {
        self.scale.unwrap_or_else(|| 1.0 / (d as f32).sqrt())
    }

    /// Returns the number of inputs.
    pub(super) fn inputs(&self) -> usize {
        3 + usize::from(self.has_mask) + usize::from(self.has_lengths)
    }

    pub(super) fn name(&self) -> &'static str {
        match (self.has_mask, self.has_lengths) {
            (false, false) => "scaled_dot_product_attention",
            (true, false) => "scaled_dot_product_attention_mask",
            (false, true) => "scaled_dot_product_attention_lengths",
            (true, true) => "scaled_dot_product_attention_mask_lengths",
        }
    }
}

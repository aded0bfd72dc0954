//! Parameters of pooling and upsampling.

macro_rules! pool {
    ($(#[$meta:meta])* $name:ident $rank:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            /// Elements of a window along each dimension; at least 1.
            pub kernel: [usize; $rank],
            /// Positions from one window to the next; at least 1.
            pub stride: [usize; $rank],
            /// Positions from one element of a window to the next; at least 1.
            pub dilation: [usize; $rank],
            /// Padding before the input; less than a window covers. The padding is never the
            /// maximum. An average counts it as zeros if
            /// [`count_include_pad`](Self::count_include_pad) is set.
            pub padding_before: [usize; $rank],
            /// Padding after the input; less than a window covers.
            pub padding_after: [usize; $rank],
            /// Whether the number of windows is rounded up. Then the last window may reach beyond
            /// the padding, but it begins in the input or in the padding before it.
            pub ceil_mode: bool,
            /// Whether an average divides by the number of a window's elements in the input and its
            /// padding (PyTorch's default), or only by the number in the input.
            pub count_include_pad: bool,
        }

        impl $name {
            /// Creates adjacent windows (the stride is the kernel size) without padding.
            pub const fn new(kernel: [usize; $rank]) -> Self {
                Self {
                    kernel,
                    stride: kernel,
                    dilation: [1; $rank],
                    padding_before: [0; $rank],
                    padding_after: [0; $rank],
                    ceil_mode: false,
                    count_include_pad: true,
                }
            }

            /// Sets the stride.
            pub const fn with_stride(mut self, stride: [usize; $rank]) -> Self {
                self.stride = stride;
                self
            }

            /// Sets the dilation.
            pub const fn with_dilation(mut self, dilation: [usize; $rank]) -> Self {
                self.dilation = dilation;
                self
            }

            /// Sets the padding on both sides.
            pub const fn with_padding(self, padding: [usize; $rank]) -> Self {
                self.with_padding_by_side(padding, padding)
            }

            /// Sets the padding before and after the input.
            pub const fn with_padding_by_side(mut self, before: [usize; $rank], after: [usize; $rank]) -> Self {
                self.padding_before = before;
                self.padding_after = after;
                self
            }

            /// Sets whether the number of windows is rounded up.
            pub const fn with_ceil_mode(mut self, ceil: bool) -> Self {
                self.ceil_mode = ceil;
                self
            }

            /// Sets whether an average counts the padding.
            pub const fn with_count_include_pad(mut self, count: bool) -> Self {
                self.count_include_pad = count;
                self
            }

            /// Returns the same windows over three dimensions: along those that are added, which
            /// come first, a window has one element.
            pub const fn over_three(&self) -> Pool3d {
                let mut all = Pool3d::new([1; 3]);
                let mut d = 0;
                while d < $rank {
                    let at = 3 - $rank + d;
                    all.kernel[at] = self.kernel[d];
                    all.stride[at] = self.stride[d];
                    all.dilation[at] = self.dilation[d];
                    all.padding_before[at] = self.padding_before[d];
                    all.padding_after[at] = self.padding_after[d];
                    d += 1;
                }
                all.ceil_mode = self.ceil_mode;
                all.count_include_pad = self.count_include_pad;
                all
            }

            /// Returns a pool of the p-norms of these windows.
            pub const fn lp(self, p: f64) -> LpPool {
                LpPool { windows: self.over_three(), rank: $rank, p }
            }

            /// Returns the gradients of a pool with these windows over an input whose dimensions
            /// after the first two have these sizes.
            pub const fn backward(self, size: [usize; $rank]) -> PoolBackward {
                PoolBackward { windows: self.over_three(), input: AdaptivePool::new(size) }
            }
        }
    };
}
pool! {
    /// Pooling windows along the last dimension of `[n, c, l]`; see [`Pool2d`]. As PyTorch's
    /// `max_pool1d` and `avg_pool1d`.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool1d};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 5.0, 2.0, 4.0, 3.0])?;
    /// let (l, op) = (Layout::contiguous((1, 1, 5)), Pool1d::new([2]).with_dilation([2]));
    /// assert_eq!(x.max_pool1d(&l, op)?.to_vec::<f32>()?, [2.0, 3.0]); // of 1 and 2, of 2 and 3
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Pool1d 1
}
pool! {
    /// Pooling windows over the last two dimensions of `[n, c, h, w]`. A window has `kernel`
    /// elements along a dimension, `dilation` positions apart, and so covers `extent = (kernel - 1)
    /// dilation + 1` positions. There are `(size + padding_before + padding_after - extent) /
    /// stride + 1` windows, rounded down, or up with [`ceil_mode`](Self::ceil_mode), but then none
    /// that begins after the input. As PyTorch's `max_pool2d` and `avg_pool2d`, and ONNX's
    /// `MaxPool` and `AveragePool`.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool2d};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let (l, op) = (Layout::contiguous((1, 1, 2, 3)), Pool2d::new([2, 2]).with_stride([1, 1]));
    /// assert_eq!(x.max_pool2d(&l, op)?.to_vec::<f32>()?, [5.0, 6.0]);
    /// assert_eq!(x.avg_pool2d(&l, op)?.to_vec::<f32>()?, [3.0, 4.0]);
    /// // The second window has one column.
    /// let op = Pool2d::new([2, 2]).with_ceil_mode(true);
    /// assert_eq!(x.avg_pool2d(&l, op)?.to_vec::<f32>()?, [3.0, 4.5]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Pool2d 2
}
pool! {
    /// Pooling windows over the last three dimensions of `[n, c, d, h, w]`; see [`Pool2d`]. As
    /// PyTorch's `max_pool3d` and `avg_pool3d`.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool3d};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
    /// let (l, op) = (Layout::contiguous((1, 1, 2, 2, 2)), Pool3d::new([2, 2, 1]));
    /// assert_eq!(x.max_pool3d(&l, op)?.to_vec::<f32>()?, [7.0, 8.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Pool3d 3
}

impl Pool3d {
    /// Returns how many windows there are along each dimension of an input of these sizes; `None`
    /// if one is larger than the input and its padding.
    pub fn counts(&self, size: [usize; 3]) -> Option<[usize; 3]> {
        let mut counts = [0; 3];
        for (d, count) in counts.iter_mut().enumerate() {
            let extent = self.kernel[d].checked_sub(1)?.checked_mul(self.dilation[d])?.checked_add(1)?;
            let padded = size[d].checked_add(self.padding_before[d])?.checked_add(self.padding_after[d])?;
            let rounded = if self.ceil_mode { padded.saturating_add(self.stride[d].saturating_sub(1)) } else { padded };
            let more = rounded.checked_sub(extent)?.checked_div(self.stride[d])?;
            // A last window that begins after the input is left out.
            let is_beyond = self.ceil_mode && more > 0 && more * self.stride[d] >= size[d] + self.padding_before[d];
            *count = more + usize::from(!is_beyond);
        }
        Some(counts)
    }
}

/// Norms of order p of windows, `(|x|^p + |y|^p + ...)^(1/p)`; padding counts nothing. Made by
/// [`Pool1d::lp`], [`Pool2d::lp`] and [`Pool3d::lp`]. As ONNX's `LpPool`, and PyTorch's `lp_pool2d`
/// of elements that are not negative.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, Pool1d};
/// let x = CpuDevice.storage_from_slice(&[3.0f32, -4.0, 5.0, 12.0])?;
/// let op = Op::LpPool(Pool1d::new([2]).lp(2.0));
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous((1, 1, 4)))])?;
/// assert_eq!(y.to_vec::<f32>()?, [5.0, 13.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LpPool {
    windows: Pool3d,
    rank: usize,
    p: f64,
}

impl LpPool {
    /// Returns the windows over three dimensions: those that are added come first.
    pub const fn over_three(&self) -> Pool3d {
        self.windows
    }

    /// Returns how many dimensions the windows have.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the order of the norm.
    pub const fn p(&self) -> f64 {
        self.p
    }
}

/// Windows that share the last one to three dimensions of `[n, c, ...]` between them: of `size`
/// windows along a dimension of `from` elements, window i goes from `i from / size`, rounded down,
/// to `(i + 1) from / size`, rounded up. As PyTorch's `adaptive_avg_pool2d` and
/// `adaptive_max_pool2d`.
///
/// ```rust
/// # use isobit_hal::{AdaptivePool, BackendDevice, BackendStorage, CpuDevice, CpuStorage};
/// # use isobit_hal::{Layout, Op};
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0])?;
/// let op = Op::AdaptiveAvgPool(AdaptivePool::new([2]));
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous((1, 1, 5)))])?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0]); // of the first three and of the last three
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdaptivePool {
    size: [usize; 3],
    rank: usize,
}

impl AdaptivePool {
    /// Creates windows over as many dimensions as there are sizes, one to three.
    pub const fn new<const N: usize>(size: [usize; N]) -> Self {
        const { assert!(N >= 1 && N <= 3, "windows have one to three dimensions") };
        let mut all = [1; 3];
        let mut d = 0;
        while d < N {
            all[3 - N + d] = size[d];
            d += 1;
        }
        Self { size: all, rank: N }
    }

    /// Returns the number of windows along each dimension.
    pub fn size(&self) -> &[usize] {
        &self.size[3 - self.rank..]
    }

    /// Returns how many dimensions the windows have.
    pub const fn rank(&self) -> usize {
        self.rank
    }
}

/// The way back through a pool, or through windows whose elements were taken apart
/// ([`Op::Col2im`](super::Op::Col2im)): the windows, and the sizes of the input that they were
/// over. Made by [`Pool1d::backward`], [`Pool2d::backward`] and [`Pool3d::backward`].
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, Pool1d};
/// let gradient = CpuDevice.storage_from_slice(&[2.0f32, 4.0])?;
/// let op = Op::AvgPoolBackward(Pool1d::new([2]).with_stride([1]).backward([3]));
/// let y = CpuStorage::apply(&op, &[(&gradient, &Layout::contiguous((1, 1, 2)))])?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 3.0, 2.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolBackward {
    windows: Pool3d,
    input: AdaptivePool,
}

impl PoolBackward {
    /// Returns the windows over three dimensions: those that are added come first.
    pub const fn over_three(&self) -> Pool3d {
        self.windows
    }

    /// Returns the sizes of the pool's input.
    pub fn size(&self) -> &[usize] {
        self.input.size()
    }

    /// Returns how many dimensions the windows have.
    pub const fn rank(&self) -> usize {
        self.input.rank()
    }
}

macro_rules! upsample {
    ($(#[$meta:meta])* $name:ident $rank:literal $($(#[$field_meta:meta])* $field:ident)?) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            /// Spatial size of the result.
            pub size: [usize; $rank],
            /// Scale factors from which positions are computed instead of from the sizes, as
            /// PyTorch does for a given `scale_factor`.
            pub scale: [Option<f64>; $rank],
            $($(#[$field_meta])* pub $field: bool,)?
        }

        impl $name {
            /// Creates an upsampling to the given size.
            pub const fn new(size: [usize; $rank]) -> Self {
                Self { size, scale: [None; $rank], $($field: false)? }
            }

            /// Computes positions from the given factors, as PyTorch does for `scale_factor`.
            pub const fn with_scale(mut self, scale: [f64; $rank]) -> Self {
                let mut i = 0;
                while i < $rank {
                    self.scale[i] = Some(scale[i]);
                    i += 1;
                }
                self
            }

            $(
                /// Sets whether the corner elements of input and result coincide.
                pub const fn with_align_corners(mut self, align_corners: bool) -> Self {
                    self.$field = align_corners;
                    self
                }
            )?
        }
    };
}
upsample! {
    /// Nearest-neighbour upsampling along the last dimension of `[n, c, l]`, as PyTorch's mode
    /// `nearest`. All dtypes.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, UpsampleNearest1d};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2])?;
    /// let y = x.upsample_nearest1d(&Layout::contiguous((1, 1, 2)), UpsampleNearest1d::new([4]))?;
    /// assert_eq!(y.to_vec::<u8>()?, [1, 1, 2, 2]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    UpsampleNearest1d 1
}
upsample! {
    /// Nearest-neighbour upsampling over the last two dimensions of `[n, c, h, w]`, as PyTorch's
    /// mode `nearest`. All dtypes.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, UpsampleNearest2d};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2])?;
    /// let l = Layout::contiguous((1, 1, 1, 2));
    /// let y = x.upsample_nearest2d(&l, UpsampleNearest2d::new([2, 3]))?;
    /// assert_eq!(y.to_vec::<u8>()?, [1, 1, 2, 1, 1, 2]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    UpsampleNearest2d 2
}
upsample! {
    /// Bilinear upsampling over the last two dimensions of `[n, c, h, w]`, as PyTorch's mode
    /// `bilinear`. *Floats.*
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, UpsampleBilinear2d};
    /// let x = CpuDevice.storage_from_slice(&[0.0f32, 10.0])?;
    /// let op = UpsampleBilinear2d::new([1, 3]).with_align_corners(true);
    /// let y = x.upsample_bilinear2d(&Layout::contiguous((1, 1, 1, 2)), op)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 5.0, 10.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    UpsampleBilinear2d 2
    /// Whether the corner elements of input and result coincide (PyTorch's `align_corners`).
    align_corners
}

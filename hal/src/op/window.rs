//! Parameters of pooling and upsampling.

/// Pooling windows over the last two dimensions of `[n, c, h, w]`, with `h_out = (h + 2 padding -
/// kernel) / stride + 1`, rounded down, and the same for w. As PyTorch's `max_pool2d` and
/// `avg_pool2d`.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool2d};
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let (l, op) = (Layout::contiguous((1, 1, 2, 3)), Pool2d::new([2, 2]).with_stride([1, 1]));
/// assert_eq!(x.max_pool2d(&l, op)?.to_vec::<f32>()?, [5.0, 6.0]);
/// assert_eq!(x.avg_pool2d(&l, op)?.to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pool2d {
    /// Rows and columns of a window; each at least 1.
    pub kernel: [usize; 2],
    /// Rows and columns from one window to the next; each at least 1.
    pub stride: [usize; 2],
    /// Rows and columns added on each side of the input; at most half a window. The padding is
    /// never the maximum. An average counts it as zeros if
    /// [`count_include_pad`](Self::count_include_pad) is set.
    pub padding: [usize; 2],
    /// Whether an average divides by the size of the whole window, including the padding (PyTorch's
    /// default), or only by the number of input elements in the window.
    pub count_include_pad: bool,
}

impl Pool2d {
    /// Creates adjacent windows (the stride is the kernel size) without padding.
    pub const fn new(kernel: [usize; 2]) -> Self {
        Self { kernel, stride: kernel, padding: [0, 0], count_include_pad: true }
    }

    /// Sets the stride.
    pub const fn with_stride(mut self, stride: [usize; 2]) -> Self {
        self.stride = stride;
        self
    }

    /// Sets the padding.
    pub const fn with_padding(mut self, padding: [usize; 2]) -> Self {
        self.padding = padding;
        self
    }

    /// Sets whether an average counts the padding.
    pub const fn with_count_include_pad(mut self, count: bool) -> Self {
        self.count_include_pad = count;
        self
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

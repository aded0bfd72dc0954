//! Parameters of pooling and upsampling.

/// Windows over the last two dimensions of `[n, c, h, w]`, with `h_out = (h + 2 padding - kernel) /
/// stride + 1`, w alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pool2d {
    /// Rows and columns of a window; at least 1.
    pub kernel: [usize; 2],
    /// From a window to the next; at least 1.
    pub stride: [usize; 2],
    /// Rows and columns around the input, at most half a window. They never are a maximum; an
    /// average counts them as zeros if [`count_include_pad`](Self::count_include_pad) says so.
    pub padding: [usize; 2],
    /// Whether an average divides by the elements of the whole window, padding included (PyTorch's
    /// default), or by those of the input alone.
    pub count_include_pad: bool,
}

impl Pool2d {
    /// Windows side by side, without padding.
    pub const fn new(kernel: [usize; 2]) -> Self {
        Self { kernel, stride: kernel, padding: [0, 0], count_include_pad: true }
    }

    /// With a given stride.
    pub const fn with_stride(mut self, stride: [usize; 2]) -> Self {
        self.stride = stride;
        self
    }

    /// With a given padding.
    pub const fn with_padding(mut self, padding: [usize; 2]) -> Self {
        self.padding = padding;
        self
    }

    /// Whether an average counts padding.
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
            /// The size of the result.
            pub size: [usize; $rank],
            /// The factors that the size came from, where positions are to be counted by them
            /// rather than by the sizes, as PyTorch does for a given `scale_factor`.
            pub scale: [Option<f64>; $rank],
            $($(#[$field_meta])* pub $field: bool,)?
        }

        impl $name {
            /// To a given size.
            pub const fn new(size: [usize; $rank]) -> Self {
                Self { size, scale: [None; $rank], $($field: false)? }
            }

            /// Counting positions by given factors, as PyTorch does for a given `scale_factor`.
            pub const fn with_scale(mut self, scale: [f64; $rank]) -> Self {
                let mut i = 0;
                while i < $rank {
                    self.scale[i] = Some(scale[i]);
                    i += 1;
                }
                self
            }

            $(
                /// Whether the corners of input and result coincide.
                pub const fn with_align_corners(mut self, align_corners: bool) -> Self {
                    self.$field = align_corners;
                    self
                }
            )?
        }
    };
}
upsample! {
    /// Nearest neighbours along the last dimension of `[n, c, l]`, as PyTorch's mode `nearest`. All
    /// dtypes.
    UpsampleNearest1d 1
}
upsample! {
    /// Nearest neighbours over the last two dimensions of `[n, c, h, w]`, as PyTorch's mode
    /// `nearest`. All dtypes.
    UpsampleNearest2d 2
}
upsample! {
    /// Bilinear interpolation over the last two dimensions of `[n, c, h, w]`, as PyTorch's mode
    /// `bilinear`. *Floats.*
    UpsampleBilinear2d 2
    /// Whether the corners of input and result coincide.
    align_corners
}

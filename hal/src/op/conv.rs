//! Parameters of convolutions.

use crate::Numerics;

macro_rules! conv {
    ($(#[$meta:meta])* $name:ident $rank:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            /// Positions from one application of the kernel to the next; at least 1.
            pub stride: [usize; $rank],
            /// Zeros on both sides of the input.
            pub padding: [usize; $rank],
            /// Positions from one element of the kernel to the next; at least 1.
            pub dilation: [usize; $rank],
            /// Groups of channels that do not see each other; divides the channels on both sides.
            pub groups: usize,
            /// Who computes it; `None` takes the device's default.
            pub numerics: Option<Numerics>,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { stride: [1; $rank], padding: [0; $rank], dilation: [1; $rank], groups: 1, numerics: None }
            }
        }

        conv!(@builders $name $rank);
    };
    (@transposed $(#[$meta:meta])* $name:ident $rank:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            /// Positions in the result from one element of the input to the next; at least 1.
            pub stride: [usize; $rank],
            /// Positions cut off on both sides of the result.
            pub padding: [usize; $rank],
            /// Positions added at the end of the result; below the stride or the dilation.
            pub output_padding: [usize; $rank],
            /// Positions from one element of the kernel to the next; at least 1.
            pub dilation: [usize; $rank],
            /// Groups of channels that do not see each other; divides the channels on both sides.
            pub groups: usize,
            /// Who computes it; `None` takes the device's default.
            pub numerics: Option<Numerics>,
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    stride: [1; $rank],
                    padding: [0; $rank],
                    output_padding: [0; $rank],
                    dilation: [1; $rank],
                    groups: 1,
                    numerics: None,
                }
            }
        }

        impl $name {
            /// With positions added at the end of the result.
            pub const fn with_output_padding(mut self, output_padding: [usize; $rank]) -> Self {
                self.output_padding = output_padding;
                self
            }
        }

        conv!(@builders $name $rank);
    };
    (@builders $name:ident $rank:literal) => {
        impl $name {
            /// With a given stride.
            pub const fn with_stride(mut self, stride: [usize; $rank]) -> Self {
                self.stride = stride;
                self
            }

            /// With a given padding.
            pub const fn with_padding(mut self, padding: [usize; $rank]) -> Self {
                self.padding = padding;
                self
            }

            /// With a given dilation.
            pub const fn with_dilation(mut self, dilation: [usize; $rank]) -> Self {
                self.dilation = dilation;
                self
            }

            /// With groups of channels.
            pub const fn with_groups(mut self, groups: usize) -> Self {
                self.groups = groups;
                self
            }

            /// With given numerics.
            pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
                self.numerics = Some(numerics);
                self
            }
        }
    };
}

conv! {
    /// A convolution (cross-correlation, as PyTorch's) `[n, c_in, l] * [c_out, c_in / groups, k] ->
    /// [n, c_out, l_out]`, with `l_out = (l + 2 padding - dilation (k - 1) - 1) / stride + 1`.
    Conv1d 1
}
conv! {
    /// As [`Conv1d`] over `[n, c_in, h, w]` and `[c_out, c_in / groups, kh, kw]`; parameters are
    /// for h and w.
    Conv2d 2
}
conv! {
    @transposed
    /// The transpose of a convolution `[n, c_in, l] * [c_in, c_out / groups, k] -> [n, c_out,
    /// l_out]`, with `l_out = (l - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1`.
    ConvTranspose1d 1
}
conv! {
    @transposed
    /// As [`ConvTranspose1d`] over `[n, c_in, h, w]` and `[c_in, c_out / groups, kh, kw]`;
    /// parameters are for h and w.
    ConvTranspose2d 2
}

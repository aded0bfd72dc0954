//! Parameters of convolutions.

use crate::Numerics;

macro_rules! conv {
    ($(#[$meta:meta])* $name:ident $rank:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            /// Input positions from one application of the kernel to the next; at least 1.
            pub stride: [usize; $rank],
            /// Number of zeros added before the input.
            pub padding_before: [usize; $rank],
            /// Number of zeros added after the input.
            pub padding_after: [usize; $rank],
            /// Input positions from one kernel element to the next; at least 1.
            pub dilation: [usize; $rank],
            /// Number of independent groups of channels; must divide `c_in` and `c_out`.
            pub groups: usize,
            /// Whether there is a bias, as the last input.
            pub has_bias: bool,
            /// Vendor library or portable kernel; `None` takes the device's default.
            pub numerics: Option<Numerics>,
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    stride: [1; $rank],
                    padding_before: [0; $rank],
                    padding_after: [0; $rank],
                    dilation: [1; $rank],
                    groups: 1,
                    has_bias: false,
                    numerics: None,
                }
            }
        }

        conv!(@builders $name $rank);
    };
    (@transposed $(#[$meta:meta])* $name:ident $rank:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            /// Result positions from one input element to the next; at least 1.
            pub stride: [usize; $rank],
            /// Number of positions cut off before the result.
            pub padding_before: [usize; $rank],
            /// Number of positions cut off after the result.
            pub padding_after: [usize; $rank],
            /// Number of positions added at the end of the result; must be less than the stride or
            /// the dilation.
            pub output_padding: [usize; $rank],
            /// Input positions from one kernel element to the next; at least 1.
            pub dilation: [usize; $rank],
            /// Number of independent groups of channels; must divide `c_in` and `c_out`.
            pub groups: usize,
            /// Whether there is a bias, as the last input.
            pub has_bias: bool,
            /// Vendor library or portable kernel; `None` takes the device's default.
            pub numerics: Option<Numerics>,
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    stride: [1; $rank],
                    padding_before: [0; $rank],
                    padding_after: [0; $rank],
                    output_padding: [0; $rank],
                    dilation: [1; $rank],
                    groups: 1,
                    has_bias: false,
                    numerics: None,
                }
            }
        }

        impl $name {
            /// Sets the number of positions added at the end of the result.
            pub const fn with_output_padding(mut self, output_padding: [usize; $rank]) -> Self {
                self.output_padding = output_padding;
                self
            }
        }

        conv!(@builders $name $rank);
    };
    (@builders $name:ident $rank:literal) => {
        impl $name {
            /// Sets the stride.
            pub const fn with_stride(mut self, stride: [usize; $rank]) -> Self {
                self.stride = stride;
                self
            }

            /// Sets the padding on both sides.
            pub const fn with_padding(self, padding: [usize; $rank]) -> Self {
                self.with_padding_by_side(padding, padding)
            }

            /// Sets the padding before and after, as ONNX's `pads` and TensorFlow's `SAME` have it.
            pub const fn with_padding_by_side(mut self, before: [usize; $rank], after: [usize; $rank]) -> Self {
                self.padding_before = before;
                self.padding_after = after;
                self
            }

            /// Sets the dilation.
            pub const fn with_dilation(mut self, dilation: [usize; $rank]) -> Self {
                self.dilation = dilation;
                self
            }

            /// Sets the number of channel groups.
            pub const fn with_groups(mut self, groups: usize) -> Self {
                self.groups = groups;
                self
            }

            /// Sets whether there is a bias, as the last input: an element for each output channel,
            /// which is added to the sums before they are rounded.
            pub const fn with_bias(mut self, bias: bool) -> Self {
                self.has_bias = bias;
                self
            }

            /// Sets the numerics.
            pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
                self.numerics = Some(numerics);
                self
            }

            /// The number of inputs.
            pub(crate) const fn inputs(&self) -> usize {
                2 + self.has_bias as usize
            }

            /// The operation's name, of those without and with a bias.
            pub(crate) const fn name(&self, [plain, biased]: [&'static str; 2]) -> &'static str {
                if self.has_bias { biased } else { plain }
            }
        }
    };
}

conv! {
    /// A convolution `[n, c_in, l] * [c_out, c_in / groups, k] -> [n, c_out, l_out]`, with `l_out =
    /// (l + padding_before + padding_after - dilation (k - 1) - 1) / stride + 1`, rounded down.
    /// Like PyTorch's, it is a cross-correlation: the kernel is not flipped. A bias `[c_out]` is
    /// added to the sums before they are rounded.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Conv1d, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32, 10.0])?;
    /// let (xl, kl) = (Layout::contiguous((1, 1, 4)), Layout::contiguous((1, 1, 2)));
    /// let y = x.conv1d(&xl, &kernel, &kl, Conv1d::default())?;
    /// assert_eq!(y.to_vec::<f32>()?, [21.0, 32.0, 43.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Conv1d 1
}
conv! {
    /// Like [`Conv1d`], with an input `[n, c_in, h, w]` and a kernel `[c_out, c_in / groups, kh,
    /// kw]`. Parameters have one value for h and one for w.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Conv2d, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32; 4])?;
    /// let l = Layout::contiguous((1, 1, 2, 2));
    /// let y = x.conv2d(&l, &kernel, &l, Conv2d::default().with_padding([1, 1]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [1., 3., 2., 4., 10., 6., 3., 7., 4.]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Conv2d 2
}
conv! {
    /// Like [`Conv1d`], with an input `[n, c_in, d, h, w]` and a kernel `[c_out, c_in / groups, kd,
    /// kh, kw]`. Parameters have one value for d, one for h and one for w.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, Conv3d, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32, 10.0])?;
    /// let (xl, kl) = (Layout::contiguous((1, 1, 2, 1, 2)), Layout::contiguous((1, 1, 2, 1, 1)));
    /// let y = x.conv3d(&xl, &kernel, &kl, Conv3d::default())?;
    /// assert_eq!(y.to_vec::<f32>()?, [31.0, 42.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Conv3d 3
}
conv! {
    @transposed
    /// A transposed convolution `[n, c_in, l] * [c_in, c_out / groups, k] -> [n, c_out, l_out]`,
    /// with `l_out = (l - 1) stride - padding_before - padding_after + dilation (k - 1) +
    /// output_padding + 1`, as PyTorch's `conv_transpose1d`. A bias `[c_out]` is added to the sums
    /// before they are rounded, also to those of no products.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, ConvTranspose1d, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32, 10.0])?;
    /// let l = Layout::contiguous((1, 1, 2));
    /// let y = x.conv_transpose1d(&l, &kernel, &l, ConvTranspose1d::default().with_stride([2]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 10.0, 2.0, 20.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ConvTranspose1d 1
}
conv! {
    @transposed
    /// Like [`ConvTranspose1d`], with an input `[n, c_in, h, w]` and a kernel `[c_in, c_out /
    /// groups, kh, kw]`. Parameters have one value for h and one for w.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, ConvTranspose2d, Layout};
    /// let x = CpuDevice.storage_from_slice(&[3.0f32])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let (xl, kl) = (Layout::contiguous((1, 1, 1, 1)), Layout::contiguous((1, 1, 2, 2)));
    /// let y = x.conv_transpose2d(&xl, &kernel, &kl, ConvTranspose2d::default())?;
    /// assert_eq!(y.to_vec::<f32>()?, [3.0, 6.0, 9.0, 12.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ConvTranspose2d 2
}
conv! {
    @transposed
    /// Like [`ConvTranspose1d`], with an input `[n, c_in, d, h, w]` and a kernel `[c_in, c_out /
    /// groups, kd, kh, kw]`. Parameters have one value for d, one for h and one for w.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, ConvTranspose3d, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32, 10.0])?;
    /// let l = Layout::contiguous((1, 1, 2, 1, 1));
    /// let y = x.conv_transpose3d(&l, &kernel, &l, ConvTranspose3d::default())?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 12.0, 20.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ConvTranspose3d 3
}

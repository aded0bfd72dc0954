//! Convolutions and attention as the deep-learning libraries of both vendors take them: without
//! addresses, so that problems that one plan solves are equal.

use crate::runtime::{Conv, FusedAttention, Strided};
use isobit_hal::DType;

/// An operand of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DnnOperand<const RANK: usize = 4> {
    /// The size of each dimension.
    pub dims: [i32; RANK],
    /// The stride along each dimension, in elements.
    pub strides: [i32; RANK],
    /// The alignment of the address in bytes, at most 16.
    pub alignment: u32,
}

/// The key of a plan: everything in a [`Conv`] except the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvProblem {
    /// The dtype of all operands.
    pub dtype: DType,
    /// Whether the convolution is transposed. Libraries call this the gradient of a convolution
    /// with respect to its input.
    pub transposed: bool,
    /// The input, `[n, c_in, d, h, w]`.
    pub src: DnnOperand<5>,
    /// The kernel, `[c_out, c_in / groups, kd, kh, kw]`, or `[c_in, c_out / groups, kd, kh, kw]` if
    /// transposed, which is the kernel of the convolution that it transposes.
    pub kernel: DnnOperand<5>,
    /// The output, `[n, c_out, d_out, h_out, w_out]`.
    pub dst: DnnOperand<5>,
    /// The stride along d, h and w.
    pub stride: [i32; 3],
    /// The padding along d, h and w, before the input.
    pub padding_before: [i32; 3],
    /// The same after the input.
    pub padding_after: [i32; 3],
    /// The dilation along d, h and w.
    pub dilation: [i32; 3],
    /// The number of channel groups.
    pub groups: i32,
}

fn small(n: usize) -> Result<i32, String> {
    i32::try_from(n).map_err(|_| format!("does not support sizes or strides of 2^31 or more, such as {n}"))
}

fn all_small<const N: usize>(values: [usize; N]) -> Result<[i32; N], String> {
    let mut small_values = [0; N];
    for (to, n) in small_values.iter_mut().zip(values) {
        *to = small(n)?;
    }
    Ok(small_values)
}

impl<const RANK: usize> DnnOperand<RANK> {
    fn of(tensor: &Strided<RANK>) -> Result<Self, String> {
        let Strided { ptr, dims, mut strides } = *tensor;
        if dims.iter().zip(strides).any(|(&size, stride)| size > 1 && stride == 0) {
            return Err("does not support operands that repeat elements".into());
        }
        // The stride of a dimension of size 1 is never used, but libraries identify a layout by all
        // strides, so it is set to that of a contiguous layout.
        for d in (0..RANK).rev().filter(|&d| dims[d] == 1) {
            strides[d] = if d == RANK - 1 { 1 } else { dims[d + 1] * strides[d + 1] };
        }
        let extent = dims.iter().zip(strides).fold(1usize, |n, (size, stride)| n.saturating_add((size - 1) * stride));
        small(extent)?;
        let alignment = if ptr.0 == 0 { 16 } else { 1 << ptr.0.trailing_zeros().min(4) };
        Ok(Self { dims: all_small(dims)?, strides: all_small(strides)?, alignment })
    }

    /// Returns the sizes and strides without those of a dimension of size 1.
    pub fn without(&self, dimension: usize) -> [Vec<i32>; 2] {
        [self.dims, self.strides].map(|all| [&all[..dimension], &all[dimension + 1..]].concat())
    }

    /// Whether the elements are contiguous in row-major order.
    pub fn is_packed(&self) -> bool {
        let mut step = 1;
        self.dims.iter().zip(self.strides).rev().all(|(&size, stride)| {
            let fits = stride == step;
            step *= size;
            fits
        })
    }
}

impl ConvProblem {
    /// # Errors
    /// Returns a human-readable reason, to follow the library's name, if no library supports the
    /// convolution.
    pub fn of(conv: &Conv) -> Result<Self, String> {
        Ok(Self {
            dtype: conv.dtype,
            transposed: conv.transposed,
            src: DnnOperand::of(&conv.src)?,
            kernel: DnnOperand::of(&conv.kernel)?,
            dst: DnnOperand::of(&conv.dst)?,
            stride: all_small(conv.stride)?,
            padding_before: all_small(conv.padding_before)?,
            padding_after: all_small(conv.padding_after)?,
            dilation: all_small(conv.dilation)?,
            groups: small(conv.groups)?,
        })
    }

    /// Whether the convolution is one of planes, which libraries get without the first spatial
    /// dimension: they are faster over two.
    pub fn is_planar(&self) -> bool {
        let planes = [&self.src, &self.kernel, &self.dst].map(|operand| operand.dims[2]);
        planes == [1; 3] && self.padding_before[0] == 0
    }

    /// Returns those of the values along d, h and w that a library gets.
    pub fn spatial<'v>(&self, values: &'v [i32; 3]) -> &'v [i32] {
        &values[usize::from(self.is_planar())..]
    }
}

/// The key of a plan: everything in a [`FusedAttention`] except the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttentionProblem {
    /// The dtype of all operands but lengths.
    pub dtype: DType,
    /// The queries, `[batch, heads, m, d]`.
    pub query: DnnOperand,
    /// The keys, `[batch, kv_heads, n, d]`.
    pub key: DnnOperand,
    /// The values, `[batch, kv_heads, n, d]`.
    pub value: DnnOperand,
    /// The mask, with the size 1 where it repeats elements.
    pub mask: Option<DnnOperand>,
    /// The result, `[batch, heads, m, d]`.
    pub dst: DnnOperand,
    /// Whether each batch entry has its own number of keys.
    pub has_lengths: bool,
    /// The bits of the scale.
    pub scale: u32,
    /// The bits of the soft-cap.
    pub softcap: Option<u32>,
    /// How many keys before its own a query sees.
    pub window_size_left: Option<i32>,
    /// How many keys after its own a query sees.
    pub window_size_right: Option<i32>,
}

impl AttentionProblem {
    /// # Errors
    /// Returns a human-readable reason, to follow the library's name, if no library supports the
    /// attention.
    pub fn of(attention: &FusedAttention) -> Result<Self, String> {
        let side = |size: Option<usize>| size.map(small).transpose();
        Ok(Self {
            dtype: attention.dtype,
            query: DnnOperand::of(&attention.query)?,
            key: DnnOperand::of(&attention.key)?,
            value: DnnOperand::of(&attention.value)?,
            mask: attention.mask.as_ref().map(DnnOperand::of).transpose()?,
            dst: DnnOperand::of(&attention.dst)?,
            has_lengths: attention.lengths.is_some(),
            scale: attention.scale.to_bits(),
            softcap: attention.softcap.map(f32::to_bits),
            window_size_left: side(attention.window_size_left)?,
            window_size_right: side(attention.window_size_right)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{DevicePtr, Tensor4};

    fn tensor<const N: usize>(ptr: u64, dims: [usize; N], strides: [usize; N]) -> Strided<N> {
        Strided { ptr: DevicePtr(ptr), dims, strides }
    }

    fn conv(src: Strided<5>) -> Conv {
        Conv {
            dtype: DType::F32,
            transposed: false,
            src,
            kernel: tensor(512, [3, 2, 1, 1, 5], [10, 5, 5, 5, 1]),
            dst: tensor(1024, [1, 3, 1, 1, 4], [12, 4, 4, 4, 1]),
            stride: [1, 1, 2],
            padding_before: [0, 0, 1],
            padding_after: [0, 0, 1],
            dilation: [1, 1, 1],
            groups: 1,
        }
    }

    #[test]
    fn strides_that_are_never_used_do_not_tell_plans_apart() {
        let of = |ptr, strides| ConvProblem::of(&conv(tensor(ptr, [1, 2, 1, 1, 9], strides))).unwrap();
        let packed = of(256, [18, 9, 9, 9, 1]);
        assert_eq!(of(256, [777, 9, 5, 0, 1]), packed);
        assert!(packed.src.is_packed() && packed.kernel.is_packed());
        assert!(!of(256, [20, 10, 9, 9, 1]).src.is_packed());
        assert_eq!((packed.src.alignment, of(260, [18, 9, 9, 9, 1]).src.alignment), (16, 4));
    }

    #[test]
    fn problems_that_differ_in_dtype_alone_have_plans_of_their_own() {
        let of =
            |dtype| ConvProblem::of(&Conv { dtype, ..conv(tensor(256, [1, 2, 1, 1, 9], [18, 9, 9, 9, 1])) }).unwrap();
        assert_ne!(of(DType::F16), of(DType::BF16));
        let all = tensor(256, [1, 2, 4, 8], [64, 32, 8, 1]);
        let attention = FusedAttention {
            dtype: DType::F16,
            query: all,
            key: all,
            value: all,
            mask: None,
            dst: all,
            lengths: None,
            scale: 1.0,
            softcap: None,
            window_size_left: None,
            window_size_right: None,
        };
        let of = |asked: FusedAttention| AttentionProblem::of(&asked).unwrap();
        let plain = of(attention);
        assert_eq!(of(FusedAttention { query: Tensor4 { ptr: DevicePtr(512), ..all }, ..attention }), plain);
        for other in [
            FusedAttention { dtype: DType::BF16, ..attention },
            FusedAttention { mask: Some(all), ..attention },
            FusedAttention { lengths: Some([DevicePtr(512); 2]), ..attention },
            FusedAttention { scale: 0.5, ..attention },
            FusedAttention { softcap: Some(1.0), ..attention },
            FusedAttention { window_size_left: Some(1), ..attention },
            FusedAttention { window_size_right: Some(0), ..attention },
        ] {
            assert_ne!(of(other), plain, "{other:?}");
        }
    }

    #[test]
    fn what_no_library_takes_is_said() {
        let with_plane = |[a, b, h, w]: [usize; 4]| [a, b, 1, h, w];
        let of = |dims, strides| ConvProblem::of(&conv(tensor(256, with_plane(dims), with_plane(strides))));
        assert!(of([2, 2, 1, 9], [0, 9, 9, 1]).unwrap_err().contains("repeat"));
        assert!(of([2, 2, 1, 1 << 31], [1 << 33, 1 << 32, 1 << 31, 1]).unwrap_err().contains("2^31"));
        assert!(of([4, 2, 1, 1 << 29], [1 << 30, 1 << 29, 1 << 29, 1]).unwrap_err().contains("2^31"), "the extent");
    }
}

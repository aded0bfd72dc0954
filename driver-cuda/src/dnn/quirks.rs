//! Convolutions that are not passed to cuDNN because it gave wrong results or was slow. The tree's
//! kernel runs instead.
//!
//! All were observed with cuDNN 9 on an H200 by the conformance suite, in 256 cases per cell; each
//! case is in `conformance/regressions.jsonl`.

use isobit_hal::DType;
use isobit_kernels::Conv;

/// Returns the reason why a convolution must not be passed to cuDNN, if any.
pub(super) fn mistrust(conv: &Conv) -> Option<&'static str> {
    let narrow = matches!(conv.dtype, DType::F16 | DType::BF16);
    let spread = |d: usize| conv.stride[d] > 1 && conv.dilation[d] > 1;
    let few_channels = conv.src.dims[1].min(conv.dst.dims[1]) < 64;
    let has_one_channel = conv.kernel.dims[1] == 1;
    match conv.transposed {
        // The only fast algorithm adds in varying order. The repeatable one takes 2738 us where the
        // tree's kernel takes 1430 us (f32, 32x128x56x56, 3x3, stride 2, H200), and 1746 us where
        // the tree's takes 886 us (over one dimension).
        true if !narrow => Some("has no transposed convolution of f32 and f64 that is both repeatable and fast"),
        // One of its kernels ended with an illegal instruction, which makes the device unusable.
        true if [0, 1, 2].into_iter().any(spread) => {
            Some("is not trusted with a transposed convolution that is strided and dilated")
        }
        // 8.4424 became 8.4375, because it adds in f16.
        true if conv.groups > 1 => Some("is not trusted with a transposed convolution of 16-bit floats in groups"),
        // -3.2047 became -3.2031, likewise: with 1 to 33 channels in five of eight shapes, with 64
        // and 128 in none, nor in bf16.
        true if conv.dtype == DType::F16 && few_channels => {
            Some("is not trusted with a transposed convolution of f16 with fewer than 64 channels")
        }
        // It read elements beside its operands, and wrote one beside the result (f16 and f32, over
        // one dimension). With padding that is equal on both sides, it did not.
        false if has_one_channel && conv.padding_before != conv.padding_after => {
            Some("is not trusted with one input channel in a group and padding that differs by side")
        }
        _ => None,
    }
}

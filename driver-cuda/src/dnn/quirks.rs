//! What cuDNN is not asked for, because it was seen to get it wrong or to do it badly. The tree's
//! kernel does it then.
//!
//! Seen with cuDNN 9 on an H200 by the conformance suite, in 256 cases of each cell; each case is
//! in `conformance/regressions.jsonl`.

use isobit_hal::DType;
use isobit_kernels::Conv;

/// Why a convolution is left to the tree, if it is.
pub(super) fn mistrust(conv: &Conv) -> Option<&'static str> {
    let narrow = matches!(conv.dtype, DType::F16 | DType::BF16);
    let spread = |d: usize| conv.stride[d] > 1 && conv.dilation[d] > 1;
    match conv.transposed {
        // The only such algorithm that is fast adds in an order that varies. The one that does not
        // takes 2738 us where the tree's kernel takes 1430 (f32, 32x128x56x56, 3x3, stride 2,
        // H200), and 1746 us where that takes 886 (over one dimension).
        true if !narrow => Some("has no transposed convolution of f32 and f64 that is both repeatable and fast"),
        // A kernel of it ended with an illegal instruction, which takes the device with it.
        true if spread(0) || spread(1) => {
            Some("is not trusted with a transposed convolution that is strided and dilated")
        }
        // 8.4424 became 8.4375: it adds in f16.
        true if conv.groups > 1 => Some("is not trusted with a transposed convolution of 16-bit floats in groups"),
        _ => None,
    }
}

//! Tests the text and the context of errors.

use isobit_hal::*;
use std::error::Error as _;

#[test]
fn the_text_holds_all_that_is_known() {
    let layout = Layout::contiguous([2, 3]);
    let error = Error::new(ErrorKind::LibraryFailure, "the product failed; try again")
        .with_op("matmul")
        .with_op("outer")
        .with_dtypes(&[DType::F16, DType::F32])
        .with_layouts(&[&layout])
        .with_device(DeviceLocation { driver: "cuda", ordinal: 1 })
        .with_kernel("gemm")
        .with_native(13, "CUBLAS_STATUS_EXECUTION_FAILED")
        .with_source(std::io::Error::other("below"));
    assert_eq!(
        error.to_string(),
        "the product failed; try again [op matmul; dtypes f16, f32; layouts [2, 3] strides [3, 1] offset 0; device cuda:1; kernel gemm; \
         native CUBLAS_STATUS_EXECUTION_FAILED (13)]"
    );
    assert_eq!(error.op(), Some("matmul"), "the innermost operation is the one that failed");
    assert_eq!(error.source().map(|s| s.to_string()).as_deref(), Some("below"));
    assert_eq!((error.kind(), error.message()), (ErrorKind::LibraryFailure, "the product failed; try again"));
    // The text that `fn main() -> Result<()>` prints.
    assert_eq!(format!("{error:?}"), format!("{error}\n  caused by: below"));
}

#[test]
fn results_stay_small_and_the_text_bare_without_context() {
    assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    assert_eq!(Error::new(ErrorKind::Other, "plain").to_string(), "plain");
}

//! Tensors and filters: `cudnnTensorDescriptor_t` and `cudnnFilterDescriptor_t`.

use super::{Descriptors, numbers};
use crate::problem::{Described, size_of_data};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, Status, answer, ensure};
use isobit_simgpu_library_common::{CUDA, injected};
use std::ffi::{c_int, c_void};

/// `CUDNN_DIM_MAX`.
pub(super) const DIM_MAX: usize = 8;
/// `CUDNN_TENSOR_NCHW`.
const NCHW: c_int = 0;
/// `CUDNN_TENSOR_NHWC`.
const NHWC: c_int = 1;
/// The maximum number of elements of a tensor, two giga-elements.
const MOST_ELEMENTS: i64 = 1 << 31;

static TENSORS: Descriptors<Described> = Descriptors::new();
static FILTERS: Descriptors<Described> = Descriptors::new();

pub(super) fn tensor(descriptor: *mut c_void) -> Outcome<Described> {
    TENSORS.get(descriptor)
}

pub(super) fn filter(descriptor: *mut c_void) -> Outcome<Described> {
    FILTERS.get(descriptor)
}

/// Creates a tensor description and checks it.
fn described(data_type: c_int, dims: Vec<i64>, strides: Vec<i64>) -> Outcome<Described> {
    size_of_data(data_type)?;
    ensure(dims.iter().all(|&n| n > 0), BAD_PARAM, || format!("sizes {dims:?} are not all positive"))?;
    ensure(strides.iter().all(|&n| n >= 0), BAD_PARAM, || format!("some of the strides {strides:?} are negative"))?;
    let elements = dims.iter().try_fold(1i64, |n, &size| n.checked_mul(size));
    ensure(elements.is_some_and(|n| n <= MOST_ELEMENTS), NOT_SUPPORTED, || "more than two giga-elements".into())?;
    Ok(Described { data_type, dims, strides })
}

/// Creates the description of a packed tensor with its channels second or last.
fn without_gaps(data_type: c_int, format: c_int, dims: Vec<i64>) -> Outcome<Described> {
    ensure([NCHW, NHWC].contains(&format), BAD_PARAM, || format!("unsupported tensor format {format}"))?;
    let mut order: Vec<usize> = (0..dims.len()).collect();
    if format == NHWC {
        order[1..].rotate_left(1);
    }
    let mut strides = vec![0; dims.len()];
    let mut step = 1i64;
    for &d in order.iter().rev() {
        strides[d] = step;
        step = step.saturating_mul(dims[d]);
    }
    described(data_type, dims, strides)
}

/// Creates an empty tensor descriptor.
///
/// # Safety
/// `descriptor` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateTensorDescriptor(descriptor: *mut *mut c_void) -> Status {
    injected!(CUDA, "cudnnCreateTensorDescriptor");
    // SAFETY: the caller promises that `descriptor` is null or can be written.
    answer(|| unsafe { TENSORS.create(descriptor) })
}

/// Sets a packed tensor of four dimensions.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetTensor4dDescriptor(
    descriptor: *mut c_void,
    format: c_int,
    data_type: c_int,
    n: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
) -> Status {
    injected!(CUDA, "cudnnSetTensor4dDescriptor");
    answer(|| TENSORS.set(descriptor, without_gaps(data_type, format, [n, c, h, w].map(i64::from).to_vec())?))
}

/// Sets a tensor of four dimensions with strides.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetTensor4dDescriptorEx(
    descriptor: *mut c_void,
    data_type: c_int,
    n: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
    n_stride: c_int,
    c_stride: c_int,
    h_stride: c_int,
    w_stride: c_int,
) -> Status {
    injected!(CUDA, "cudnnSetTensor4dDescriptorEx");
    let [dims, strides] = [[n, c, h, w], [n_stride, c_stride, h_stride, w_stride]].map(|v| v.map(i64::from).to_vec());
    answer(|| TENSORS.set(descriptor, described(data_type, dims, strides)?))
}

/// Sets a tensor of four to eight dimensions.
///
/// # Safety
/// `dims` and `strides` are null or point to `rank` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetTensorNdDescriptor(
    descriptor: *mut c_void,
    data_type: c_int,
    rank: c_int,
    dims: *const c_int,
    strides: *const c_int,
) -> Status {
    injected!(CUDA, "cudnnSetTensorNdDescriptor");
    answer(|| {
        let rank = usize::try_from(rank).unwrap_or_default();
        ensure((4..=DIM_MAX).contains(&rank), NOT_SUPPORTED, || format!("unsupported tensor of {rank} dimensions"))?;
        // SAFETY: the caller promises that `dims` and `strides` are null or point to `rank`
        // numbers.
        let (dims, strides) = unsafe { (numbers(dims, rank)?, numbers(strides, rank)?) };
        TENSORS.set(descriptor, described(data_type, dims, strides)?)
    })
}

/// Destroys a tensor descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyTensorDescriptor(descriptor: *mut c_void) -> Status {
    injected!(CUDA, "cudnnDestroyTensorDescriptor");
    answer(|| TENSORS.destroy(descriptor))
}

/// Creates an empty filter descriptor.
///
/// # Safety
/// `descriptor` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateFilterDescriptor(descriptor: *mut *mut c_void) -> Status {
    injected!(CUDA, "cudnnCreateFilterDescriptor");
    // SAFETY: the caller promises that `descriptor` is null or can be written.
    answer(|| unsafe { FILTERS.create(descriptor) })
}

/// Sets a filter with two spatial dimensions.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetFilter4dDescriptor(
    descriptor: *mut c_void,
    data_type: c_int,
    format: c_int,
    k: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
) -> Status {
    injected!(CUDA, "cudnnSetFilter4dDescriptor");
    answer(|| FILTERS.set(descriptor, without_gaps(data_type, format, [k, c, h, w].map(i64::from).to_vec())?))
}

/// Sets a filter of three to eight dimensions.
///
/// # Safety
/// `dims` is null or points to `rank` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetFilterNdDescriptor(
    descriptor: *mut c_void,
    data_type: c_int,
    format: c_int,
    rank: c_int,
    dims: *const c_int,
) -> Status {
    injected!(CUDA, "cudnnSetFilterNdDescriptor");
    answer(|| {
        let rank = usize::try_from(rank).unwrap_or_default();
        ensure(rank > 2, BAD_PARAM, || format!("unsupported filter of {rank} dimensions"))?;
        ensure(rank <= DIM_MAX, NOT_SUPPORTED, || format!("unsupported filter of {rank} dimensions"))?;
        // SAFETY: the caller promises that `dims` is null or points to `rank` numbers.
        FILTERS.set(descriptor, without_gaps(data_type, format, unsafe { numbers(dims, rank)? })?)
    })
}

/// Destroys a filter descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyFilterDescriptor(descriptor: *mut c_void) -> Status {
    injected!(CUDA, "cudnnDestroyFilterDescriptor");
    answer(|| FILTERS.destroy(descriptor))
}

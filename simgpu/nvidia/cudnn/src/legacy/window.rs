//! Convolution descriptors, `cudnnConvolutionDescriptor_t`, which describe how a filter moves over
//! an input, and the resulting sizes.

use super::tensor::{DIM_MAX, filter, tensor};
use super::{Descriptors, numbers, write_each};
use crate::problem::{DOUBLE, Described, FLOAT, HALF, Steps};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, Outcome, Status, answer, ensure, fail};
use isobit_simgpu_library_common::{CUDA, injected};
use std::ffi::{c_int, c_void};

/// `CUDNN_DEFAULT_MATH`, which allows the matrix units.
const DEFAULT_MATH: c_int = 0;
/// `CUDNN_FMA_MATH`, which forbids them.
pub(super) const FMA_MATH: c_int = 3;
/// `CUDNN_CONVOLUTION`; a cross-correlation is 1.
const CONVOLUTION: c_int = 0;

/// The parameters of a convolution, except its operands.
#[derive(Debug, Clone)]
pub(super) struct Window {
    pub(super) steps: Steps,
    pub(super) compute_type: c_int,
    pub(super) groups: usize,
    pub(super) math_type: c_int,
}

static WINDOWS: Descriptors<Window> = Descriptors::new();

pub(super) fn window(descriptor: *mut c_void) -> Outcome<Window> {
    WINDOWS.get(descriptor)
}

impl Window {
    fn new([padding, stride, dilation]: [Vec<i64>; 3], mode: c_int, compute_type: c_int) -> Outcome<Self> {
        ensure(padding.iter().all(|&n| n >= 0), BAD_PARAM, || format!("negative padding {padding:?}"))?;
        for (what, steps) in [("strides", &stride), ("dilations", &dilation)] {
            ensure(steps.iter().all(|&n| n > 0), BAD_PARAM, || format!("{what} of {steps:?}"))?;
        }
        ensure([CONVOLUTION, 1].contains(&mode), BAD_PARAM, || format!("unknown convolution mode: {mode}"))?;
        // 4 is `CUDNN_DATA_INT32`, the type of the sums of integer operands.
        ensure([FLOAT, DOUBLE, HALF, 4].contains(&compute_type), BAD_PARAM, || {
            format!("data type {compute_type} is not a compute type")
        })?;
        let is_flipped = mode == CONVOLUTION;
        let steps = Steps { after: padding.clone(), before: padding, stride, dilation, is_flipped };
        Ok(Self { steps, compute_type, groups: 1, math_type: DEFAULT_MATH })
    }

    /// Returns the sizes of a result.
    fn result(&self, input: &Described, filter: &Described) -> Outcome<Vec<usize>> {
        let spatial = self.steps.stride.len();
        ensure([input, filter].iter().all(|t| t.dims.len() == spatial + 2), BAD_PARAM, || {
            format!("a convolution with {spatial} spatial dimensions needs tensors of rank {}", spatial + 2)
        })?;
        let groups = self.groups as i64;
        ensure(input.dims[1] == groups * filter.dims[1], BAD_PARAM, || {
            format!("{} channels do not make {groups} groups of {}", input.dims[1], filter.dims[1])
        })?;
        let Steps { before, after, stride, dilation, .. } = &self.steps;
        let mut sizes = vec![input.dims[0], filter.dims[0]];
        for d in 0..spatial {
            let reach = dilation[d] * (filter.dims[d + 2] - 1) + 1;
            let room = input.dims[d + 2] + before[d] + after[d] - reach;
            ensure(room >= 0, BAD_PARAM, || format!("a filter with an extent of {reach} does not fit"))?;
            sizes.push(room / stride[d] + 1);
        }
        sizes.into_iter().map(|n| usize::try_from(n).or_else(|_| fail(BAD_PARAM, "a negative size"))).collect()
    }
}

/// Creates an empty convolution descriptor.
///
/// # Safety
/// `descriptor` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateConvolutionDescriptor(descriptor: *mut *mut c_void) -> Status {
    injected!(CUDA, "cudnnCreateConvolutionDescriptor");
    // SAFETY: the caller promises that `descriptor` is null or can be written.
    answer(|| unsafe { WINDOWS.create(descriptor) })
}

/// Sets a convolution with two spatial dimensions and one group.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolution2dDescriptor(
    descriptor: *mut c_void,
    pad_h: c_int,
    pad_w: c_int,
    stride_h: c_int,
    stride_w: c_int,
    dilation_h: c_int,
    dilation_w: c_int,
    mode: c_int,
    compute_type: c_int,
) -> Status {
    injected!(CUDA, "cudnnSetConvolution2dDescriptor");
    answer(|| {
        let steps = [[pad_h, pad_w], [stride_h, stride_w], [dilation_h, dilation_w]];
        let steps = steps.map(|s| s.map(i64::from).to_vec());
        WINDOWS.set(descriptor, Window::new(steps, mode, compute_type)?)
    })
}

/// Sets a convolution with one or more spatial dimensions and one group.
///
/// # Safety
/// `pad`, `stride` and `dilation` are null or point to `length` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetConvolutionNdDescriptor(
    descriptor: *mut c_void,
    length: c_int,
    pad: *const c_int,
    stride: *const c_int,
    dilation: *const c_int,
    mode: c_int,
    compute_type: c_int,
) -> Status {
    injected!(CUDA, "cudnnSetConvolutionNdDescriptor");
    answer(|| {
        let length = usize::try_from(length).unwrap_or_default();
        ensure(length > 0, BAD_PARAM, || "a convolution needs at least one dimension".into())?;
        ensure(length <= DIM_MAX - 2, NOT_SUPPORTED, || format!("unsupported: {length} spatial dimensions"))?;
        // SAFETY: the caller promises that `pad`, `stride` and `dilation` are null or point to
        // `length` numbers.
        let steps = unsafe { [numbers(pad, length)?, numbers(stride, length)?, numbers(dilation, length)?] };
        WINDOWS.set(descriptor, Window::new(steps, mode, compute_type)?)
    })
}

/// Changes a convolution that is already set.
fn change(descriptor: *mut c_void, f: impl FnOnce(&mut Window)) -> Outcome {
    WINDOWS.change(descriptor, |there| match there {
        Some(window) => {
            f(window);
            Ok(())
        }
        None => fail(BAD_PARAM, "the convolution descriptor is not set"),
    })
}

/// Sets the number of channel groups of a convolution.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolutionGroupCount(descriptor: *mut c_void, groups: c_int) -> Status {
    injected!(CUDA, "cudnnSetConvolutionGroupCount");
    answer(|| {
        let groups = usize::try_from(groups).unwrap_or_default();
        ensure(groups > 0, BAD_PARAM, || "the number of groups must be positive".into())?;
        change(descriptor, |window| window.groups = groups)
    })
}

/// Sets whether the matrix units may be used.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolutionMathType(descriptor: *mut c_void, math_type: c_int) -> Status {
    injected!(CUDA, "cudnnSetConvolutionMathType");
    answer(|| {
        ensure((DEFAULT_MATH..=FMA_MATH).contains(&math_type), BAD_PARAM, || format!("unknown math type {math_type}"))?;
        change(descriptor, |window| window.math_type = math_type)
    })
}

/// Destroys a convolution descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyConvolutionDescriptor(descriptor: *mut c_void) -> Status {
    injected!(CUDA, "cudnnDestroyConvolutionDescriptor");
    answer(|| WINDOWS.destroy(descriptor))
}

/// Returns the result sizes of a convolution with two spatial dimensions.
///
/// # Safety
/// The last four pointers are null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetConvolution2dForwardOutputDim(
    descriptor: *mut c_void,
    input: *mut c_void,
    filter_descriptor: *mut c_void,
    n: *mut c_int,
    c: *mut c_int,
    h: *mut c_int,
    w: *mut c_int,
) -> Status {
    injected!(CUDA, "cudnnGetConvolution2dForwardOutputDim");
    answer(|| {
        let sizes = window(descriptor)?.result(&tensor(input)?, &filter(filter_descriptor)?)?;
        ensure(sizes.len() == 4, BAD_PARAM, || format!("the result has {} dimensions", sizes.len()))?;
        // SAFETY: the caller promises that the last four pointers are null or can be written.
        unsafe { write_each(&sizes, &[n, c, h, w]) }
    })
}

/// Returns the sizes of a convolution's result.
///
/// # Safety
/// `dims` is null or has room for `rank` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetConvolutionNdForwardOutputDim(
    descriptor: *mut c_void,
    input: *mut c_void,
    filter_descriptor: *mut c_void,
    rank: c_int,
    dims: *mut c_int,
) -> Status {
    injected!(CUDA, "cudnnGetConvolutionNdForwardOutputDim");
    answer(|| {
        let sizes = window(descriptor)?.result(&tensor(input)?, &filter(filter_descriptor)?)?;
        ensure(!dims.is_null(), NULL_POINTER, || "the pointer to the sizes is null".into())?;
        let room = usize::try_from(rank).unwrap_or_default().min(sizes.len());
        let places: Vec<_> = (0..room).map(|i| dims.wrapping_add(i)).collect();
        // SAFETY: the caller promises that `dims` is null or has room for `rank` numbers.
        unsafe { write_each(&sizes, &places) }
    })
}

//! How a filter goes over an input, `cudnnConvolutionDescriptor_t`, and the sizes that follow.

use super::tensor::{DIM_MAX, filter, tensor};
use super::{Descriptors, numbers, write_each};
use crate::problem::{DOUBLE, Described, FLOAT, HALF, Steps};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, Outcome, Status, answer, ensure, fail};
use std::ffi::{c_int, c_void};

/// `CUDNN_DEFAULT_MATH`: the matrix units are allowed.
const DEFAULT_MATH: c_int = 0;
/// `CUDNN_FMA_MATH`: they are not.
pub(super) const FMA_MATH: c_int = 3;
/// `CUDNN_CONVOLUTION`; a cross-correlation is 1.
const CONVOLUTION: c_int = 0;

/// A convolution, set but for its operands.
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
        ensure(padding.iter().all(|&n| n >= 0), BAD_PARAM, || format!("padding of {padding:?}"))?;
        for (what, steps) in [("strides", &stride), ("dilations", &dilation)] {
            ensure(steps.iter().all(|&n| n > 0), BAD_PARAM, || format!("{what} of {steps:?}"))?;
        }
        ensure([CONVOLUTION, 1].contains(&mode), BAD_PARAM, || format!("no convolution mode: {mode}"))?;
        // Integers have an int32's sums.
        ensure([FLOAT, DOUBLE, HALF, 4].contains(&compute_type), BAD_PARAM, || {
            format!("data type {compute_type} is none to compute in")
        })?;
        let is_flipped = mode == CONVOLUTION;
        let steps = Steps { after: padding.clone(), before: padding, stride, dilation, is_flipped };
        Ok(Self { steps, compute_type, groups: 1, math_type: DEFAULT_MATH })
    }

    /// The sizes of a result.
    fn result(&self, input: &Described, filter: &Described) -> Outcome<Vec<usize>> {
        let spatial = self.steps.stride.len();
        ensure([input, filter].iter().all(|t| t.dims.len() == spatial + 2), BAD_PARAM, || {
            format!("a convolution over {spatial} dimensions is of tensors of {}", spatial + 2)
        })?;
        let groups = self.groups as i64;
        ensure(input.dims[1] == groups * filter.dims[1], BAD_PARAM, || {
            format!("{} channels, and {groups} groups of {}", input.dims[1], filter.dims[1])
        })?;
        let Steps { before, after, stride, dilation, .. } = &self.steps;
        let mut sizes = vec![input.dims[0], filter.dims[0]];
        for d in 0..spatial {
            let reach = dilation[d] * (filter.dims[d + 2] - 1) + 1;
            let room = input.dims[d + 2] + before[d] + after[d] - reach;
            ensure(room >= 0, BAD_PARAM, || format!("a filter that reaches over {reach} does not fit"))?;
            sizes.push(room / stride[d] + 1);
        }
        sizes.into_iter().map(|n| usize::try_from(n).or_else(|_| fail(BAD_PARAM, "a negative size"))).collect()
    }
}

/// Makes a convolution's description, which says nothing yet.
///
/// # Safety
/// `descriptor` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateConvolutionDescriptor(descriptor: *mut *mut c_void) -> Status {
    // SAFETY: the caller promises that `descriptor` is null or can be written.
    answer(|| unsafe { WINDOWS.create(descriptor) })
}

/// Says what a convolution over two dimensions is, in one group.
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
    answer(|| {
        let steps = [[pad_h, pad_w], [stride_h, stride_w], [dilation_h, dilation_w]];
        let steps = steps.map(|s| s.map(i64::from).to_vec());
        WINDOWS.set(descriptor, Window::new(steps, mode, compute_type)?)
    })
}

/// Says what a convolution over one dimension or more is, in one group.
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
    answer(|| {
        let length = usize::try_from(length).unwrap_or_default();
        ensure(length > 0, BAD_PARAM, || "a convolution over no dimensions".into())?;
        ensure(length <= DIM_MAX - 2, NOT_SUPPORTED, || format!("a convolution over {length} dimensions"))?;
        // SAFETY: the caller promises that `pad`, `stride` and `dilation` are null or point to
        // `length` numbers.
        let steps = unsafe { [numbers(pad, length)?, numbers(stride, length)?, numbers(dilation, length)?] };
        WINDOWS.set(descriptor, Window::new(steps, mode, compute_type)?)
    })
}

/// Changes a convolution that is set.
fn change(descriptor: *mut c_void, f: impl FnOnce(&mut Window)) -> Outcome {
    WINDOWS.change(descriptor, |there| match there {
        Some(window) => {
            f(window);
            Ok(())
        }
        None => fail(BAD_PARAM, "a convolution that was not set"),
    })
}

/// Says how many groups of channels a convolution has.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolutionGroupCount(descriptor: *mut c_void, groups: c_int) -> Status {
    answer(|| {
        let groups = usize::try_from(groups).unwrap_or_default();
        ensure(groups > 0, BAD_PARAM, || "a convolution in no groups".into())?;
        change(descriptor, |window| window.groups = groups)
    })
}

/// Says whether the matrix units may be used.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolutionMathType(descriptor: *mut c_void, math_type: c_int) -> Status {
    answer(|| {
        ensure((DEFAULT_MATH..=FMA_MATH).contains(&math_type), BAD_PARAM, || format!("no math type: {math_type}"))?;
        change(descriptor, |window| window.math_type = math_type)
    })
}

/// Destroys a convolution's description.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyConvolutionDescriptor(descriptor: *mut c_void) -> Status {
    answer(|| WINDOWS.destroy(descriptor))
}

/// The sizes of the result of a convolution over two dimensions.
///
/// # Safety
/// The last four are null or can be written.
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
    answer(|| {
        let sizes = window(descriptor)?.result(&tensor(input)?, &filter(filter_descriptor)?)?;
        ensure(sizes.len() == 4, BAD_PARAM, || format!("the result has {} dimensions", sizes.len()))?;
        // SAFETY: the caller promises that the last four are null or can be written.
        unsafe { write_each(&sizes, &[n, c, h, w]) }
    })
}

/// The sizes of a convolution's result.
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
    answer(|| {
        let sizes = window(descriptor)?.result(&tensor(input)?, &filter(filter_descriptor)?)?;
        ensure(!dims.is_null(), NULL_POINTER, || "no place for the sizes".into())?;
        let room = usize::try_from(rank).unwrap_or_default().min(sizes.len());
        let places: Vec<_> = (0..room).map(|i| dims.wrapping_add(i)).collect();
        // SAFETY: the caller promises that `dims` is null or has room for `rank` numbers.
        unsafe { write_each(&sizes, &places) }
    })
}

//! Descriptors of tensors and convolutions:
//! <https://rocm.docs.amd.com/projects/MIOpen/en/latest/doxygen/html/group__tensor.html> and
//! <https://rocm.docs.amd.com/projects/MIOpen/en/latest/doxygen/html/group__convolutions.html>.

use crate::{BAD_PARAMETER, INTERNAL_ERROR, NOT_IMPLEMENTED, SUCCESS, Status, status};
use isobit_simgpu_library_common::{HIP, Handles, guarded, injected};
use isobit_simgpu_math::convolution::{self, Window};
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};

/// `miopenHalf`.
pub const HALF: c_int = 0;
/// `miopenFloat`.
pub const FLOAT: c_int = 1;
/// `miopenBFloat16`.
pub const BFLOAT16: c_int = 5;
/// `miopenDouble`: supported for tensors, but not for convolutions.
pub const DOUBLE: c_int = 6;

/// A tensor of four dimensions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub(crate) data_type: c_int,
    pub(crate) dims: [usize; 4],
    pub(crate) strides: [usize; 4],
}

impl Tensor {
    pub(crate) fn is_packed(&self) -> bool {
        let mut step = 1;
        self.dims.iter().zip(self.strides).rev().all(|(&size, stride)| {
            let fits = stride == step;
            step *= size;
            fits
        })
    }

    /// Returns the layout without gaps, extended to three spatial dimensions.
    pub(crate) fn packed(&self) -> convolution::Tensor {
        let [n, c, h, w] = self.dims;
        convolution::Tensor::packed([n, c, 1, h, w])
    }
}

/// A convolution over two spatial dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Convolution {
    pub(crate) padding: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) dilation: [usize; 2],
    pub(crate) groups: usize,
}

impl Default for Convolution {
    fn default() -> Self {
        Self { padding: [0; 2], stride: [1; 2], dilation: [1; 2], groups: 1 }
    }
}

impl Convolution {
    /// Returns the window over three spatial dimensions, of which the first has size 1.
    pub(crate) fn window(&self) -> Window {
        let [h, w] = self.padding;
        Window {
            padding: [[0; 2], [h; 2], [w; 2]],
            stride: [1, self.stride[0], self.stride[1]],
            dilation: [1, self.dilation[0], self.dilation[1]],
            groups: self.groups,
            is_flipped: false,
        }
    }

    /// Returns the sizes of the result of a convolution if the operands match.
    pub(crate) fn result(&self, input: &Tensor, filter: &Tensor) -> Result<[usize; 4], Status> {
        let ([n, c, h, w], [k, c_group, r, s]) = (input.dims, filter.dims);
        if c_group * self.groups != c || !k.is_multiple_of(self.groups) {
            return Err(BAD_PARAMETER);
        }
        let window = self.window();
        let size = |d, input, filter| window.size(d, input, filter).ok_or(BAD_PARAMETER);
        Ok([n, k, size(1, h, r)?, size(2, w, s)?])
    }
}

static TENSORS: Handles<Mutex<Tensor>> = Handles::new();
static CONVOLUTIONS: Handles<Mutex<Convolution>> = Handles::new();

fn read<T: Copy>(live: &Handles<Mutex<T>>, handle: *mut c_void) -> Result<T, Status> {
    let object = live.get(handle).ok_or(BAD_PARAMETER)?;
    Ok(*object.lock())
}

fn change<T>(live: &Handles<Mutex<T>>, handle: *mut c_void, f: impl FnOnce(&mut T)) -> Result<(), Status> {
    let object = live.get(handle).ok_or(BAD_PARAMETER)?;
    f(&mut object.lock());
    Ok(())
}

pub(crate) fn tensor(handle: *mut c_void) -> Result<Tensor, Status> {
    read(&TENSORS, handle)
}

pub(crate) fn convolution(handle: *mut c_void) -> Result<Convolution, Status> {
    read(&CONVOLUTIONS, handle)
}

/// # Safety
/// `out` is null or valid for writes.
unsafe fn make<T: Default>(live: &Handles<Mutex<T>>, out: *mut *mut c_void) -> Status {
    guarded(INTERNAL_ERROR, || {
        if out.is_null() {
            return BAD_PARAMETER;
        }
        // SAFETY: the pointer is not null; the caller promises that `out` is null or valid for
        // writes.
        unsafe { out.write(live.insert(Mutex::new(T::default()))) };
        SUCCESS
    })
}

/// Reads the numbers of a C array, each of which must be at least `least`.
///
/// # Safety
/// `from` is null or points to `N` numbers.
unsafe fn numbers<const N: usize>(from: *const c_int, least: usize) -> Result<[usize; N], Status> {
    let mut to = [0; N];
    for (i, to) in to.iter_mut().enumerate() {
        if from.is_null() {
            return Err(BAD_PARAMETER);
        }
        // SAFETY: the pointer is not null; the caller promises that `from` is null or points to `N`
        // numbers.
        let number = usize::try_from(unsafe { from.add(i).read() });
        *to = number.ok().filter(|&n| n >= least).ok_or(BAD_PARAMETER)?;
    }
    Ok(to)
}

/// Creates a tensor descriptor, which is still empty.
///
/// # Safety
/// `tensor_desc` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateTensorDescriptor(tensor_desc: *mut *mut c_void) -> Status {
    injected!(HIP, "miopenCreateTensorDescriptor");
    // SAFETY: the caller promises that `tensor_desc` is null or valid for writes.
    unsafe { make(&TENSORS, tensor_desc) }
}

/// Sets a tensor descriptor. Only four dimensions are supported.
///
/// # Safety
/// `dims` and `strides` are null or point to `nb_dims` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenSetTensorDescriptor(
    tensor_desc: *mut c_void,
    data_type: c_int,
    nb_dims: c_int,
    dims: *const c_int,
    strides: *const c_int,
) -> Status {
    injected!(HIP, "miopenSetTensorDescriptor");
    guarded(INTERNAL_ERROR, || {
        if nb_dims != 4 || ![HALF, FLOAT, BFLOAT16, DOUBLE].contains(&data_type) {
            return NOT_IMPLEMENTED;
        }
        // SAFETY: as the caller promises; `nb_dims` is four.
        let read = || unsafe { Ok(Tensor { data_type, dims: numbers(dims, 1)?, strides: numbers(strides, 1)? }) };
        status(read().and_then(|new| change(&TENSORS, tensor_desc, |tensor| *tensor = new)))
    })
}

/// Destroys a tensor descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn miopenDestroyTensorDescriptor(tensor_desc: *mut c_void) -> Status {
    injected!(HIP, "miopenDestroyTensorDescriptor");
    guarded(INTERNAL_ERROR, || if TENSORS.remove(tensor_desc).is_some() { SUCCESS } else { BAD_PARAMETER })
}

/// Creates a convolution descriptor with stride and dilation 1, without padding, in one group.
///
/// # Safety
/// `conv_desc` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateConvolutionDescriptor(conv_desc: *mut *mut c_void) -> Status {
    injected!(HIP, "miopenCreateConvolutionDescriptor");
    // SAFETY: the caller promises that `conv_desc` is null or valid for writes.
    unsafe { make(&CONVOLUTIONS, conv_desc) }
}

/// Sets a convolution descriptor. Only two dimensions are supported, and not the transposed modes,
/// which are also available as gradients.
///
/// # Safety
/// `pad`, `stride` and `dilation` are null or point to `spatial_dim` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenInitConvolutionNdDescriptor(
    conv_desc: *mut c_void,
    spatial_dim: c_int,
    pad: *const c_int,
    stride: *const c_int,
    dilation: *const c_int,
    c_mode: c_int,
) -> Status {
    injected!(HIP, "miopenInitConvolutionNdDescriptor");
    guarded(INTERNAL_ERROR, || {
        if spatial_dim != 2 || c_mode != 0 {
            return NOT_IMPLEMENTED;
        }
        // SAFETY: as the caller promises; `spatial_dim` is two.
        let read = || unsafe { Ok([numbers(pad, 0)?, numbers(stride, 1)?, numbers(dilation, 1)?]) };
        status(read().and_then(|[padding, stride, dilation]| {
            let new = Convolution { padding, stride, dilation, groups: 1 };
            change(&CONVOLUTIONS, conv_desc, |conv| *conv = new)
        }))
    })
}

/// Sets the number of channel groups of a convolution.
#[unsafe(no_mangle)]
pub extern "C" fn miopenSetConvolutionGroupCount(conv_desc: *mut c_void, group_count: c_int) -> Status {
    injected!(HIP, "miopenSetConvolutionGroupCount");
    guarded(INTERNAL_ERROR, || match usize::try_from(group_count) {
        Ok(groups) if groups > 0 => status(change(&CONVOLUTIONS, conv_desc, |conv| conv.groups = groups)),
        _ => BAD_PARAMETER,
    })
}

/// Sets the alternative f16 implementation (0) or determinism (1). Neither has an effect here:
/// there is only one f16 implementation, and results are always reproducible.
#[unsafe(no_mangle)]
pub extern "C" fn miopenSetConvolutionAttribute(conv_desc: *mut c_void, attr: c_int, _value: c_int) -> Status {
    injected!(HIP, "miopenSetConvolutionAttribute");
    guarded(INTERNAL_ERROR, || match attr {
        0 | 1 => status(convolution(conv_desc).map(|_| ())),
        _ => BAD_PARAMETER,
    })
}

/// Destroys a convolution descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn miopenDestroyConvolutionDescriptor(conv_desc: *mut c_void) -> Status {
    injected!(HIP, "miopenDestroyConvolutionDescriptor");
    guarded(INTERNAL_ERROR, || if CONVOLUTIONS.remove(conv_desc).is_some() { SUCCESS } else { BAD_PARAMETER })
}

/// Writes the sizes of a convolution's result.
///
/// # Safety
/// The last four pointers are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenGetConvolutionForwardOutputDim(
    conv_desc: *mut c_void,
    input_tensor_desc: *mut c_void,
    filter_desc: *mut c_void,
    n: *mut c_int,
    c: *mut c_int,
    h: *mut c_int,
    w: *mut c_int,
) -> Status {
    injected!(HIP, "miopenGetConvolutionForwardOutputDim");
    guarded(INTERNAL_ERROR, || {
        let result = || convolution(conv_desc)?.result(&tensor(input_tensor_desc)?, &tensor(filter_desc)?);
        let outs = [n, c, h, w];
        if outs.iter().any(|out| out.is_null()) {
            return BAD_PARAMETER;
        }
        status(result().map(|dims| {
            for (out, size) in outs.into_iter().zip(dims) {
                // SAFETY: the pointer is not null; the caller promises that the last four are null
                // or valid for writes.
                unsafe { out.write(size as c_int) };
            }
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_a_result() {
        let tensor = |dims| Tensor { data_type: FLOAT, dims, strides: [1; 4] };
        let conv = Convolution { padding: [0, 2], stride: [1, 3], dilation: [1, 2], groups: 2 };
        // The last dimension: the padded input of 11 + 2 * 2, less the filter's span of 2 * (3 - 1)
        // + 1, divided by 3, plus one.
        assert_eq!(conv.result(&tensor([5, 4, 1, 11]), &tensor([6, 2, 1, 3])), Ok([5, 6, 1, 4]));
        assert_eq!(conv.result(&tensor([5, 6, 1, 11]), &tensor([6, 2, 1, 3])), Err(BAD_PARAMETER), "channels");
        assert_eq!(conv.result(&tensor([5, 4, 1, 11]), &tensor([5, 2, 1, 3])), Err(BAD_PARAMETER), "groups");
        assert_eq!(
            conv.result(&tensor([5, 4, 1, 11]), &tensor([6, 2, 2, 3])),
            Err(BAD_PARAMETER),
            "a kernel too large"
        );
    }
}

//! Bindings to AMD's MIOpen for Isobit's ROCm driver: C types, constants, and a table of functions
//! that [`Miopen::get`] fills from the library of ROCm 5, 6 or 7 if it is installed. The
//! declarations match those of `miopen/miopen.h`, which `cargo xtask bindings --check` compares.
//! AMD's documentation describes each function:
//! <https://rocm.docs.amd.com/projects/MIOpen/en/latest/reference/index.html>.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

use hip_sys::hipStream_t;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// The status of a call.
pub type miopenStatus_t = c_uint;
/// A stream. The name comes from MIOpen's OpenCL backend.
pub type miopenAcceleratorQueue_t = hipStream_t;
/// The type of elements.
pub type miopenDataType_t = c_uint;
/// The mode of a convolution.
pub type miopenConvolutionMode_t = c_uint;
/// An attribute of a convolution besides its shape.
pub type miopenConvolutionAttrib_t = c_uint;
/// A kind of algorithm.
pub type miopenConvAlgorithm_t = c_uint;

/// A solution: one way to compute a convolution. The layout is that of ROCm 5, 6 and 7.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct miopenConvSolution_t {
    /// The time in milliseconds, measured earlier or estimated.
    pub time: f32,
    /// The size of its workspace in bytes.
    pub workspace_size: usize,
    /// Its id.
    pub solution_id: u64,
    /// Its kind of algorithm.
    pub algorithm: miopenConvAlgorithm_t,
}

hip_sys::handles! {
    /// The handle for calls: a device and a stream.
    miopenHandle_t = miopenHandle;
    /// Sizes, strides and dtype of a tensor.
    miopenTensorDescriptor_t = miopenTensorDescriptor;
    /// Padding, stride, dilation and groups of a convolution.
    miopenConvolutionDescriptor_t = miopenConvolutionDescriptor;
}

hip_sys::constants! { miopenStatus_t:
    miopenStatusSuccess = 0, "Done.";
    miopenStatusNotInitialized = 1, "The library is not initialised.";
    miopenStatusInvalidValue = 2, "An argument's value is wrong.";
    miopenStatusBadParm = 3, "An argument is wrong.";
    miopenStatusAllocFailed = 4, "No memory is left.";
    miopenStatusInternalError = 5, "The library failed.";
    miopenStatusNotImplemented = 6, "The library does not support the call.";
    miopenStatusUnknownError = 7, "Something else.";
}

hip_sys::constants! { miopenDataType_t:
    miopenHalf = 0, "f16.";
    miopenFloat = 1, "f32.";
    miopenBFloat16 = 5, "bf16.";
    miopenDouble = 6, "f64.";
}

hip_sys::constants! { miopenConvolutionMode_t:
    miopenConvolution = 0, "Cross-correlation.";
    miopenTranspose = 1, "The transpose of one.";
}

hip_sys::constants! { miopenConvolutionAttrib_t:
    MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0, "Whether f16 is computed in bf16 on gfx90a.";
}

/// A [`miopenConvolutionAttrib_t`], from ROCm 5.5 on: 1 restricts the solutions to those that give
/// the same bits every time.
pub const MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC: miopenConvolutionAttrib_t = 1;

hip_sys::constants! { miopenConvAlgorithm_t:
    miopenConvolutionAlgoGEMM = 0, "A matrix product.";
    miopenConvolutionAlgoDirect = 1, "Direct.";
    miopenConvolutionAlgoFFT = 2, "By a Fourier transform.";
    miopenConvolutionAlgoWinograd = 3, "By a Winograd transform.";
    miopenConvolutionAlgoImplicitGEMM = 5, "A matrix product whose operand is never stored.";
}

hip_sys::library! {
    /// MIOpen.
    pub struct Miopen {
        name: "MIOpen (libMIOpen)",
        variable: "ISOBIT_MIOPEN_LIBRARY",
        sonames: ["libMIOpen.so.1", "libMIOpen.so"]
    }

    /// Returns the name of a status, a static string.
    fn miopenGetErrorString(error: miopenStatus_t) -> *const c_char;
    /// Returns the version.
    fn miopenGetVersion(major: *mut usize, minor: *mut usize, patch: *mut usize) -> miopenStatus_t;
    /// Creates a handle on the current device that works on a stream.
    fn miopenCreateWithStream(handle: *mut miopenHandle_t, stream: miopenAcceleratorQueue_t) -> miopenStatus_t;
    /// Moves a handle to another stream.
    fn miopenSetStream(handle: miopenHandle_t, streamID: miopenAcceleratorQueue_t) -> miopenStatus_t;
    /// Destroys a handle.
    fn miopenDestroy(handle: miopenHandle_t) -> miopenStatus_t;
    /// Creates a tensor descriptor.
    fn miopenCreateTensorDescriptor(tensor_desc: *mut miopenTensorDescriptor_t) -> miopenStatus_t;
    /// Sets its dtype, sizes and strides.
    fn miopenSetTensorDescriptor(
        tensor_desc: miopenTensorDescriptor_t, data_type: miopenDataType_t, nb_dims: c_int, dims: *const c_int,
        strides: *const c_int,
    ) -> miopenStatus_t;
    /// Destroys a tensor descriptor.
    fn miopenDestroyTensorDescriptor(tensor_desc: miopenTensorDescriptor_t) -> miopenStatus_t;
    /// Creates a convolution descriptor.
    fn miopenCreateConvolutionDescriptor(conv_desc: *mut miopenConvolutionDescriptor_t) -> miopenStatus_t;
    /// Sets its parameters for the given number of spatial dimensions.
    fn miopenInitConvolutionNdDescriptor(
        conv_desc: miopenConvolutionDescriptor_t, spatial_dim: c_int, pad: *const c_int, stride: *const c_int,
        dilation: *const c_int, c_mode: miopenConvolutionMode_t,
    ) -> miopenStatus_t;
    /// Sets the number of channel groups.
    fn miopenSetConvolutionGroupCount(conv_desc: miopenConvolutionDescriptor_t, group_count: c_int) -> miopenStatus_t;
    /// Sets an attribute.
    fn miopenSetConvolutionAttribute(
        conv_desc: miopenConvolutionDescriptor_t, attr: miopenConvolutionAttrib_t, value: c_int,
    ) -> miopenStatus_t;
    /// Returns the sizes of a convolution's result.
    fn miopenGetConvolutionForwardOutputDim(
        conv_desc: miopenConvolutionDescriptor_t, input_tensor_desc: miopenTensorDescriptor_t,
        filter_desc: miopenTensorDescriptor_t, n: *mut c_int, c: *mut c_int, h: *mut c_int, w: *mut c_int,
    ) -> miopenStatus_t;
    /// Destroys a convolution descriptor.
    fn miopenDestroyConvolutionDescriptor(conv_desc: miopenConvolutionDescriptor_t) -> miopenStatus_t;
    /// Returns the solutions, in the order of expected speed.
    fn miopenConvolutionForwardGetSolution(
        handle: miopenHandle_t, w_desc: miopenTensorDescriptor_t, x_desc: miopenTensorDescriptor_t,
        conv_desc: miopenConvolutionDescriptor_t, y_desc: miopenTensorDescriptor_t,
        max_solution_count: usize, solution_count: *mut usize, solutions: *mut miopenConvSolution_t,
    ) -> miopenStatus_t;
    /// Compiles the kernels of a solution.
    fn miopenConvolutionForwardCompileSolution(
        handle: miopenHandle_t, w_desc: miopenTensorDescriptor_t, x_desc: miopenTensorDescriptor_t,
        conv_desc: miopenConvolutionDescriptor_t, y_desc: miopenTensorDescriptor_t,
        solution_id: u64,
    ) -> miopenStatus_t;
    /// Returns the solutions, in the order of expected speed.
    fn miopenConvolutionBackwardDataGetSolution(
        handle: miopenHandle_t, dy_desc: miopenTensorDescriptor_t, w_desc: miopenTensorDescriptor_t,
        conv_desc: miopenConvolutionDescriptor_t, dx_desc: miopenTensorDescriptor_t,
        max_solution_count: usize, solution_count: *mut usize, solutions: *mut miopenConvSolution_t,
    ) -> miopenStatus_t;
    /// Compiles the kernels of a solution.
    fn miopenConvolutionBackwardDataCompileSolution(
        handle: miopenHandle_t, dy_desc: miopenTensorDescriptor_t, w_desc: miopenTensorDescriptor_t,
        conv_desc: miopenConvolutionDescriptor_t, dx_desc: miopenTensorDescriptor_t,
        solution_id: u64,
    ) -> miopenStatus_t;
    /// Enqueues a convolution by a compiled solution.
    fn miopenConvolutionForwardImmediate(
        handle: miopenHandle_t, w_desc: miopenTensorDescriptor_t, w: *const c_void, x_desc: miopenTensorDescriptor_t,
        x: *const c_void, conv_desc: miopenConvolutionDescriptor_t, y_desc: miopenTensorDescriptor_t, y: *mut c_void,
        work_space: *mut c_void, work_space_size: usize, solution_id: u64,
    ) -> miopenStatus_t;
    /// Enqueues the gradient of a convolution with respect to its input, by a compiled solution.
    fn miopenConvolutionBackwardDataImmediate(
        handle: miopenHandle_t, dy_desc: miopenTensorDescriptor_t, dy: *const c_void, w_desc: miopenTensorDescriptor_t,
        w: *const c_void, conv_desc: miopenConvolutionDescriptor_t, dx_desc: miopenTensorDescriptor_t, dx: *mut c_void,
        work_space: *mut c_void, work_space_size: usize, solution_id: u64,
    ) -> miopenStatus_t;
}

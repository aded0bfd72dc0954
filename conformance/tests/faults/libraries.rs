//! The vendor's libraries: products, convolutions, random numbers, and AMD's compiler.

use crate::bench::{Action, Outcome};
use crate::calls::{Call, Expected};
use crate::describe::describe;
use isobit::{
    AnyDevice, AnyStorage, BackendDevice as _, BackendStorage as _, Conv2d, CpuDevice, DType, ErrorKind, KernelSource,
    Layout, Matmul, Numerics, Op, RandNormal, Result,
};
use std::cell::RefCell;

/// A device whose first call of a library is to come.
fn fresh(device: &AnyDevice) -> Result<AnyDevice> {
    AnyDevice::open(&device.location().to_string())
}

/// Returns small whole numbers, whose products and sums are exact in every order.
fn whole(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 7) as f32 - 3.0).collect()
}

/// A step, and the device that it is made on.
type Step = (AnyDevice, Box<dyn Fn() -> Result<()>>);

fn products(device: &AnyDevice) -> Result<Step> {
    let (device, data) = (fresh(device)?, whole(144));
    let layout = Layout::contiguous([12, 12]);
    let cpu = CpuDevice.storage_from_slice(&data)?;
    let expected = cpu.matmul(&layout, &cpu, &layout, Matmul::default())?.to_vec::<f32>()?;
    let storage = device.storage_from_slice(&data)?;
    let step = move || {
        let found = storage.matmul(&layout, &storage, &layout, Matmul::default())?;
        assert_eq!(found.to_vec::<f32>()?, expected);
        Ok(())
    };
    Ok((device, Box::new(step)))
}

/// A product of bytes, which one of the vendor's libraries leaves to another one if it fails.
fn product_of_bytes(device: &AnyDevice) -> Result<Action> {
    let (device, data) = (fresh(device)?, (0..192).map(|i| (i % 7) as i8 - 3).collect::<Vec<_>>());
    let [lhs, rhs] = [[12, 16], [16, 8]].map(Layout::contiguous);
    let cpu = CpuDevice.storage_from_slice(&data)?;
    let expected = cpu.matmul_integer(&lhs, &cpu, &rhs, [None, None])?.to_vec::<i32>()?;
    let storage = device.storage_from_slice(&data)?;
    Ok(Box::new(move || {
        let found = storage.matmul_integer(&lhs, &storage, &rhs, [None, None])?.to_vec::<i32>()?;
        assert_eq!(found, expected);
        let counters = device.counters();
        assert!(counters.vendor_calls > 0 && counters.vendor_fallbacks == 0, "no library computed it");
        Ok(())
    }))
}

fn convolutions(device: &AnyDevice) -> Result<Step> {
    let (device, data, weights) = (fresh(device)?, whole(2 * 4 * 6 * 6), whole(3 * 4 * 3 * 3));
    let (image, kernel) = (Layout::contiguous([2, 4, 6, 6]), Layout::contiguous([3, 4, 3, 3]));
    let of = |data: &[f32], weights: &[f32]| -> Result<Vec<f32>> {
        let (data, weights) = (CpuDevice.storage_from_slice(data)?, CpuDevice.storage_from_slice(weights)?);
        data.conv2d(&image, &weights, &kernel, Conv2d::default())?.to_vec()
    };
    let expected = of(&data, &weights)?;
    let (data, weights) = (device.storage_from_slice(&data)?, device.storage_from_slice(&weights)?);
    let step = move || {
        let found = data.conv2d(&image, &weights, &kernel, Conv2d::default())?;
        assert_eq!(found.to_vec::<f32>()?, expected);
        Ok(())
    };
    Ok((device, Box::new(step)))
}

fn draws(device: &AnyDevice) -> Result<Step> {
    let device = fresh(device)?;
    let (drawn, layout) = (device.zeros(&1000.into(), DType::F32)?, Layout::contiguous(1000));
    let op = Op::RandNormal(RandNormal::new(5.0, 1.0).at(7, 0).with_numerics(Numerics::Vendor));
    let drawn = RefCell::new(drawn);
    let step = move || {
        let mut drawn = drawn.borrow_mut();
        AnyStorage::apply_into(&op, &[], &mut drawn, &layout)?;
        let mean = drawn.to_vec::<f32>()?.iter().sum::<f32>() / 1000.0;
        // Five times the standard deviation of the mean.
        assert!((mean - 5.0).abs() < 0.16, "{mean}");
        Ok(())
    };
    Ok((device, Box::new(step)))
}

fn product(device: &AnyDevice) -> Result<Action> {
    products(device).map(|(_, step)| step as Action)
}

fn two_products(device: &AnyDevice) -> Result<Action> {
    products(device).map(then_again)
}

fn convolution(device: &AnyDevice) -> Result<Action> {
    convolutions(device).map(|(_, step)| step as Action)
}

fn two_convolutions(device: &AnyDevice) -> Result<Action> {
    convolutions(device).map(then_again)
}

fn numbers(device: &AnyDevice) -> Result<Action> {
    draws(device).map(|(_, step)| step as Action)
}

fn numbers_twice(device: &AnyDevice) -> Result<Action> {
    draws(device).map(then_again)
}

fn compilation(device: &AnyDevice) -> Result<Action> {
    let device = fresh(device)?;
    let source = KernelSource::new("k.cu", "extern \"C\" __global__ void k(int *x) { *x = 1; }");
    Ok(Box::new(move || device.compile("k", &source).map(drop)))
}

/// The lack of memory passes: the library is used the next time.
fn then_again((device, step): Step) -> Action {
    Box::new(move || {
        step()?;
        let before = device.counters().vendor_calls;
        step()?;
        assert!(device.counters().vendor_calls > before, "the library is not asked again");
        Ok(())
    })
}

const fn of(
    what: &'static str,
    names: [&'static str; 2],
    codes: [&'static str; 2],
    outcome: Outcome,
    prepare: fn(&AnyDevice) -> Result<Action>,
) -> Call {
    Call { what, names, nth: "1", expected: Expected::One(codes, outcome), prepare }
}

/// An internal error of cuBLASLt, whose work cuBLAS takes over.
const fn lt(what: &'static str, function: &'static str) -> Call {
    of(what, [function, ""], BLAS_BROKEN, Outcome::Works, product_of_bytes)
}

const BLAS_BROKEN: [&str; 2] = ["CUBLAS_STATUS_INTERNAL_ERROR", "rocblas_status_internal_error"];
const BLAS_MEMORY: [&str; 2] = ["CUBLAS_STATUS_ALLOC_FAILED", "rocblas_status_memory_error"];
const DNN_BROKEN: [&str; 2] = ["CUDNN_STATUS_INTERNAL_ERROR", "miopenStatusInternalError"];
const DNN_MEMORY: [&str; 2] = ["CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", "miopenStatusAllocFailed"];
const RNG_BROKEN: [&str; 2] = ["CURAND_STATUS_INTERNAL_ERROR", "ROCRAND_STATUS_INTERNAL_ERROR"];
const RNG_MEMORY: [&str; 2] = ["CURAND_STATUS_ALLOCATION_FAILED", "ROCRAND_STATUS_ALLOCATION_FAILED"];

/// An internal error of HIPRTC in one of its functions, or another status.
const fn rtc(
    what: &'static str,
    function: &'static str,
    code: &'static str,
    kind: ErrorKind,
    words: &'static str,
) -> Call {
    of(what, ["", function], ["", code], Outcome::Fails(kind, words), compilation)
}

pub const CALLS: &[Call] = &[
    of("a BLAS handle", ["cublasCreate_v2", "rocblas_create_handle"], BLAS_BROKEN, Outcome::Works, product),
    of(
        "a BLAS handle, for lack of memory",
        ["cublasCreate_v2", "rocblas_create_handle"],
        BLAS_MEMORY,
        Outcome::Works,
        two_products,
    ),
    of(
        "the settings of a BLAS handle",
        ["cublasSetMathMode", "rocblas_set_atomics_mode"],
        BLAS_BROKEN,
        Outcome::Works,
        product,
    ),
    of(
        "the stream of a BLAS handle",
        ["cublasSetStream_v2", "rocblas_set_stream"],
        BLAS_BROKEN,
        Outcome::Works,
        product,
    ),
    of(
        "the workspace of a product",
        ["cublasSetWorkspace_v2", "rocblas_set_workspace"],
        BLAS_BROKEN,
        Outcome::Fails(ErrorKind::LibraryFailure, "setting the workspace"),
        product,
    ),
    of(
        "a product",
        ["cublasGemmStridedBatchedEx", "rocblas_gemm_strided_batched_ex"],
        BLAS_BROKEN,
        Outcome::Fails(ErrorKind::LibraryFailure, "multiplying matrices"),
        product,
    ),
    of(
        "a product, for lack of memory",
        ["cublasGemmStridedBatchedEx", "rocblas_gemm_strided_batched_ex"],
        BLAS_MEMORY,
        Outcome::Fails(ErrorKind::OutOfMemory, "multiplying matrices"),
        product,
    ),
    of(
        "a product that the library was not built for",
        ["", "rocblas_gemm_strided_batched_ex"],
        ["", "rocblas_status_arch_mismatch"],
        Outcome::Works,
        product,
    ),
    lt("the description of a product of bytes", "cublasLtMatmulDescCreate"),
    lt("a setting of that description", "cublasLtMatmulDescSetAttribute"),
    lt("the layout of a matrix of bytes", "cublasLtMatrixLayoutCreate"),
    lt("a setting of that layout", "cublasLtMatrixLayoutSetAttribute"),
    lt("a preference for products of bytes", "cublasLtMatmulPreferenceCreate"),
    lt("a setting of that preference", "cublasLtMatmulPreferenceSetAttribute"),
    lt("the algorithm of a product of bytes", "cublasLtMatmulAlgoGetHeuristic"),
    lt("a product of bytes", "cublasLtMatmul"),
    lt("the end of a description of a product", "cublasLtMatmulDescDestroy"),
    lt("the end of a layout", "cublasLtMatrixLayoutDestroy"),
    lt("the end of a preference", "cublasLtMatmulPreferenceDestroy"),
    of("a DNN handle", ["cudnnCreate", "miopenCreateWithStream"], DNN_BROKEN, Outcome::Works, convolution),
    of(
        "a DNN handle, for lack of memory",
        ["cudnnCreate", "miopenCreateWithStream"],
        DNN_MEMORY,
        Outcome::Works,
        two_convolutions,
    ),
    of("the stream of a DNN handle", ["cudnnSetStream", ""], DNN_BROKEN, Outcome::Works, convolution),
    of(
        "a descriptor of a convolution",
        ["cudnnBackendCreateDescriptor", "miopenCreateTensorDescriptor"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    Call {
        nth: "5",
        ..of(
            "a later descriptor of a convolution",
            ["cudnnBackendCreateDescriptor", ""],
            DNN_BROKEN,
            Outcome::Works,
            convolution,
        )
    },
    of(
        "the settings of a convolution",
        ["cudnnBackendSetAttribute", "miopenInitConvolutionNdDescriptor"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of(
        "the plan of a convolution",
        ["cudnnBackendFinalize", "miopenConvolutionForwardGetSolution"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of(
        "a property of a plan",
        ["cudnnBackendGetAttribute", "miopenConvolutionForwardCompileSolution"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of(
        "a convolution",
        ["cudnnBackendExecute", "miopenConvolutionForwardImmediate"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of("a generator", ["curandCreateGenerator", "rocrand_create_generator"], RNG_BROKEN, Outcome::Works, numbers),
    of(
        "a generator, for lack of memory",
        ["curandCreateGenerator", "rocrand_create_generator"],
        RNG_MEMORY,
        Outcome::Works,
        numbers_twice,
    ),
    of("the stream of a generator", ["curandSetStream", "rocrand_set_stream"], RNG_BROKEN, Outcome::Works, numbers),
    of(
        "the seed of a generator",
        ["curandSetPseudoRandomGeneratorSeed", "rocrand_set_seed"],
        RNG_BROKEN,
        Outcome::Works,
        numbers,
    ),
    of(
        "the offset of a generator",
        ["curandSetGeneratorOffset", "rocrand_set_offset"],
        RNG_BROKEN,
        Outcome::Works,
        numbers,
    ),
    of("a draw", ["curandGenerateNormal", "rocrand_generate_normal"], RNG_BROKEN, Outcome::Works, numbers),
    of(
        "a draw, for lack of memory",
        ["curandGenerateNormal", "rocrand_generate_normal"],
        RNG_MEMORY,
        Outcome::Fails(ErrorKind::OutOfMemory, "drawing"),
        numbers,
    ),
    of(
        "the end of a BLAS handle",
        ["cublasDestroy_v2", "rocblas_destroy_handle"],
        BLAS_BROKEN,
        Outcome::Works,
        product,
    ),
    of("the end of a DNN handle", ["cudnnDestroy", "miopenDestroy"], DNN_BROKEN, Outcome::Works, convolution),
    of(
        "the end of a descriptor",
        ["cudnnBackendDestroyDescriptor", "miopenDestroyTensorDescriptor"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of(
        "a convolution's own descriptor",
        ["", "miopenCreateConvolutionDescriptor"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of(
        "the end of that descriptor",
        ["", "miopenDestroyConvolutionDescriptor"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of("the shape of a descriptor", ["", "miopenSetTensorDescriptor"], DNN_BROKEN, Outcome::Works, convolution),
    of(
        "the size of a convolution's result",
        ["", "miopenGetConvolutionForwardOutputDim"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of("the groups of a convolution", ["", "miopenSetConvolutionGroupCount"], DNN_BROKEN, Outcome::Works, convolution),
    of(
        "the attributes of a convolution",
        ["", "miopenSetConvolutionAttribute"],
        DNN_BROKEN,
        Outcome::Works,
        convolution,
    ),
    of(
        "the end of a generator",
        ["curandDestroyGenerator", "rocrand_destroy_generator"],
        RNG_BROKEN,
        Outcome::Works,
        numbers,
    ),
    of(
        "whether a stream is captured",
        ["cuStreamIsCapturing", "hipStreamIsCapturing"],
        ["CUDA_ERROR_UNKNOWN", "hipErrorUnknown"],
        Outcome::Works,
        product,
    ),
    // A description has the versions of the libraries that are loaded by now.
    of(
        "the version of the BLAS library",
        ["cublasGetProperty", "rocblas_get_version_string"],
        BLAS_BROKEN,
        Outcome::Works,
        describe,
    ),
    of("the length of that version", ["", "rocblas_get_version_string_size"], BLAS_BROKEN, Outcome::Works, describe),
    of("the version of the DNN library", ["", "miopenGetVersion"], DNN_BROKEN, Outcome::Works, describe),
    of(
        "the version of the generators",
        ["curandGetVersion", "rocrand_get_version"],
        RNG_BROKEN,
        Outcome::Works,
        describe,
    ),
    of(
        "the end of a program",
        ["", "hiprtcDestroyProgram"],
        ["", "HIPRTC_ERROR_INVALID_PROGRAM"],
        Outcome::Works,
        compilation,
    ),
    rtc(
        "reading a source",
        "hiprtcCreateProgram",
        "HIPRTC_ERROR_INTERNAL_ERROR",
        ErrorKind::LibraryFailure,
        "reading the source",
    ),
    rtc(
        "compiling",
        "hiprtcCompileProgram",
        "HIPRTC_ERROR_INTERNAL_ERROR",
        ErrorKind::LibraryFailure,
        "compiling k.cu",
    ),
    rtc(
        "compiling, for lack of memory",
        "hiprtcCompileProgram",
        "HIPRTC_ERROR_OUT_OF_MEMORY",
        ErrorKind::OutOfMemory,
        "compiling k.cu",
    ),
    rtc(
        "compiling what is wrong",
        "hiprtcCompileProgram",
        "HIPRTC_ERROR_COMPILATION",
        ErrorKind::CompileFailed,
        "k.cu does not compile",
    ),
    rtc(
        "the size of compiled code",
        "hiprtcGetCodeSize",
        "HIPRTC_ERROR_INTERNAL_ERROR",
        ErrorKind::LibraryFailure,
        "querying the size of the code",
    ),
    rtc(
        "the compiled code",
        "hiprtcGetCode",
        "HIPRTC_ERROR_INTERNAL_ERROR",
        ErrorKind::LibraryFailure,
        "fetching the code",
    ),
    rtc(
        "the compiler's version",
        "hiprtcVersion",
        "HIPRTC_ERROR_INTERNAL_ERROR",
        ErrorKind::LibraryFailure,
        "querying its version",
    ),
];

//! Descriptors, sizes and algorithms through the C functions, and the results of the three calls.

use super::convolution::Arguments;
use super::*;
use crate::handle::test_handle;
use crate::status::*;
use crate::testing::{packed, plain, seven_loops};
use cudarc::cudnn::sys::{
    cudnnConvolutionBwdDataAlgo_t as DataAlgorithm, cudnnConvolutionFwdAlgo_t as Algorithm,
    cudnnConvolutionFwdAlgoPerfStruct as Perf, cudnnDataType_t as Data, cudnnDeterminism_t as Determinism,
    cudnnMathType_t as Math, cudnnTensorFormat_t as Format,
};
use isobit_simgpu_math::convolution::Pass;
use std::mem::offset_of;
use std::ptr::{null, null_mut};

const F32: c_int = Data::CUDNN_DATA_FLOAT as c_int;
const NCHW: c_int = Format::CUDNN_TENSOR_NCHW as c_int;
const NHWC: c_int = Format::CUDNN_TENSOR_NHWC as c_int;
const PRECOMPUTED: c_int = Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM as c_int;

fn made(create: unsafe extern "C" fn(*mut *mut c_void) -> Status) -> *mut c_void {
    let mut descriptor = null_mut();
    // SAFETY: an out-parameter.
    assert_eq!(unsafe { create(&mut descriptor) }, SUCCESS);
    descriptor
}

/// 2 x 4 x 6 x 7 input and 8 x 2 x 3 x 3 filter in two groups, with padding 1 and 2, and stride 2
/// along the rows.
struct Case {
    tensors: [*mut c_void; 3],
    convolution: *mut c_void,
}

const SHAPES: [[i64; 4]; 3] = [[2, 4, 6, 7], [8, 2, 3, 3], [2, 8, 3, 9]];

fn case(format: c_int, data: c_int, compute: c_int) -> Case {
    let [x, w, y] = [cudnnCreateTensorDescriptor, cudnnCreateFilterDescriptor, cudnnCreateTensorDescriptor].map(made);
    for (tensor, [n, c, h, w]) in [(x, [2, 4, 6, 7]), (y, [2, 8, 3, 9])] {
        assert_eq!(cudnnSetTensor4dDescriptor(tensor, format, data, n, c, h, w), SUCCESS);
    }
    assert_eq!(cudnnSetFilter4dDescriptor(w, data, format, 8, 2, 3, 3), SUCCESS);
    let convolution = made(cudnnCreateConvolutionDescriptor);
    assert_eq!(cudnnSetConvolution2dDescriptor(convolution, 1, 2, 2, 1, 1, 1, 1, compute), SUCCESS);
    assert_eq!(cudnnSetConvolutionGroupCount(convolution, 2), SUCCESS);
    Case { tensors: [x, w, y], convolution }
}

#[test]
fn tensors_and_filters_are_checked() {
    let (tensor, filter) = (made(cudnnCreateTensorDescriptor), made(cudnnCreateFilterDescriptor));
    let set = |format, data, [n, c, h, w]: [c_int; 4]| cudnnSetTensor4dDescriptor(tensor, format, data, n, c, h, w);
    assert_eq!(set(NCHW, F32, [1, 2, 3, 4]), SUCCESS);
    assert_eq!([set(7, F32, [1; 4]), set(Format::CUDNN_TENSOR_NCHW_VECT_C as c_int, F32, [1; 4])], [BAD_PARAM; 2]);
    assert_eq!([set(NCHW, F32, [1, 0, 3, 4]), set(NCHW, 77, [1; 4])], [BAD_PARAM; 2]);
    assert_eq!(set(NHWC, F32, [65536, 65536, 3, 4]), NOT_SUPPORTED, "more than two giga-elements");
    assert_eq!(cudnnSetTensor4dDescriptor(filter, NCHW, F32, 1, 1, 1, 1), BAD_PARAM, "no tensor");
    assert_eq!(cudnnSetTensor4dDescriptorEx(tensor, F32, 1, 2, 3, 4, 24, 12, 4, -1), BAD_PARAM);
    let ones = [1; 9];
    // SAFETY: the given number of elements, or null.
    let nd = |rank| unsafe { cudnnSetTensorNdDescriptor(tensor, F32, rank, ones.as_ptr(), ones.as_ptr()) };
    assert_eq!([nd(3), nd(4), nd(8), nd(9), nd(-1)], [NOT_SUPPORTED, SUCCESS, SUCCESS, NOT_SUPPORTED, NOT_SUPPORTED]);
    // SAFETY: as above.
    let nd = |rank| unsafe { cudnnSetFilterNdDescriptor(filter, F32, NCHW, rank, ones.as_ptr()) };
    assert_eq!([nd(2), nd(3), nd(8), nd(9)], [BAD_PARAM, SUCCESS, SUCCESS, NOT_SUPPORTED]);
    // SAFETY: null is rejected.
    unsafe {
        assert_eq!(cudnnSetFilterNdDescriptor(filter, F32, NCHW, 4, null()), NULL_POINTER);
        assert_eq!(cudnnCreateTensorDescriptor(null_mut()), BAD_PARAM);
    }
    assert_eq!([cudnnDestroyTensorDescriptor(tensor), cudnnDestroyFilterDescriptor(filter)], [SUCCESS; 2]);
    assert_eq!([cudnnDestroyTensorDescriptor(tensor), cudnnDestroyFilterDescriptor(filter)], [BAD_PARAM; 2]);
    assert_eq!([cudnnDestroyTensorDescriptor(null_mut()), cudnnDestroyFilterDescriptor(null_mut())], [SUCCESS; 2]);
}

#[test]
fn convolutions_are_checked_and_tell_the_sizes_of_results() {
    let Case { tensors: [x, w, _], convolution } = case(NCHW, F32, F32);
    let mut sizes = [0; 4];
    let [n, c, h, v] = &mut sizes;
    // SAFETY: out-parameters.
    let status = unsafe { cudnnGetConvolution2dForwardOutputDim(convolution, x, w, n, c, h, v) };
    // (6 + 2*1 - 3) / 2 + 1 rows, rounded down; 7 + 2*2 - 3 + 1 columns.
    assert_eq!((status, sizes), (SUCCESS, [2, 8, 3, 9]));
    let mut sizes = [0; 5];
    // SAFETY: the array has room.
    let status = unsafe { cudnnGetConvolutionNdForwardOutputDim(convolution, x, w, 5, sizes.as_mut_ptr()) };
    assert_eq!((status, sizes), (SUCCESS, [2, 8, 3, 9, 0]));
    let result = |convolution| {
        let mut sizes = [0; 4];
        // SAFETY: the array has room.
        unsafe { cudnnGetConvolutionNdForwardOutputDim(convolution, x, w, 4, sizes.as_mut_ptr()) }
    };
    assert_eq!(cudnnSetConvolutionGroupCount(convolution, 1), SUCCESS);
    assert_eq!(result(convolution), BAD_PARAM, "channels");
    assert_eq!(
        [cudnnSetConvolutionGroupCount(convolution, 0), cudnnSetConvolutionMathType(convolution, 4)],
        [BAD_PARAM; 2]
    );
    let set = |[p, s, d]: [c_int; 3], mode, compute| {
        cudnnSetConvolution2dDescriptor(convolution, p, 1, s, 1, d, 1, mode, compute)
    };
    assert_eq!([set([-1, 1, 1], 1, 0), set([0, 0, 1], 1, 0), set([0, 1, 0], 1, 0)], [BAD_PARAM; 3]);
    assert_eq!([set([0, 1, 1], 2, 0), set([0, 1, 1], 1, 77)], [BAD_PARAM; 2]);
    assert_eq!(set([0, 1, 7], 1, 0), SUCCESS);
    assert_eq!(cudnnSetConvolutionGroupCount(convolution, 2), SUCCESS);
    assert_eq!(result(convolution), BAD_PARAM, "a filter too large");
    let unset = made(cudnnCreateConvolutionDescriptor);
    assert_eq!([result(unset), cudnnSetConvolutionGroupCount(unset, 1)], [BAD_PARAM; 2]);
    let ones = [1; 7];
    let nd = |rank| {
        let ones = ones.as_ptr();
        // SAFETY: the given number of elements.
        unsafe { cudnnSetConvolutionNdDescriptor(unset, rank, ones, ones, ones, 1, F32) }
    };
    assert_eq!([nd(0), nd(1), nd(6), nd(7)], [BAD_PARAM, SUCCESS, SUCCESS, NOT_SUPPORTED]);
    assert_eq!(result(unset), BAD_PARAM, "six dimensions of tensors of two");
}

#[test]
fn algorithms_are_named_with_what_they_need() {
    assert_eq!(size_of::<Performance>(), size_of::<Perf>());
    assert_eq!(offset_of!(Performance, memory), offset_of!(Perf, memory));
    assert_eq!(offset_of!(Performance, math_type), offset_of!(Perf, mathType));
    let Case { tensors: [x, w, y], convolution } = case(NCHW, F32, F32);
    let handle = test_handle();
    let asked = |handle, room: c_int| {
        let mut results = [Performance { time: 7.0, ..EMPTY }; 4];
        let mut count = 0;
        // SAFETY: there is room for four.
        let status = unsafe {
            let to = results.as_mut_ptr();
            cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, convolution, y, room, &mut count, to)
        };
        (status, results[..count as usize].to_vec())
    };
    const EMPTY: Performance =
        Performance { algorithm: -1, status: -1, time: 0.0, memory: 0, determinism: 0, math_type: 0, reserved: [0; 3] };
    let repeats = Determinism::CUDNN_DETERMINISTIC as c_int;
    let (status, named) = asked(handle, 4);
    assert_eq!((status, named.len(), named[0].algorithm, named[1].algorithm), (SUCCESS, 2, PRECOMPUTED, 0));
    assert!(named[0].memory > 0 && named[1].memory == 0 && named.iter().all(|p| p.determinism == repeats));
    assert_eq!(asked(handle, 1).1, named[..1]);
    assert_eq!([asked(handle, 0).0, asked(null_mut(), 4).0], [BAD_PARAM; 2]);
    let size = |algorithm| {
        let mut bytes = 0;
        // SAFETY: an out-parameter.
        let status =
            unsafe { cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, convolution, y, algorithm, &mut bytes) };
        (status, bytes)
    };
    assert_eq!(size(PRECOMPUTED), (SUCCESS, named[0].memory));
    assert_eq!(size(Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_FFT as c_int).0, NOT_SUPPORTED);
    assert_eq!([size(Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_COUNT as c_int).0, size(-1).0], [BAD_PARAM; 2]);
    // Without the matrix units, only the offsets of the filter's elements need workspace: 2 x 3 x 3
    // of four bytes.
    assert_eq!(cudnnSetConvolutionMathType(convolution, Math::CUDNN_FMA_MATH as c_int), SUCCESS);
    assert_eq!(size(PRECOMPUTED), (SUCCESS, 72));
    let mut gradients = [EMPTY; 8];
    let mut count = 0;
    // SAFETY: there is room for eight.
    let status = unsafe {
        let to = gradients.as_mut_ptr();
        cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, y, convolution, x, 8, &mut count, to)
    };
    assert_eq!((status, count), (SUCCESS, 2));
    let varies = gradients[..2].iter().find(|p| p.determinism != repeats).unwrap();
    assert_eq!(varies.algorithm, DataAlgorithm::CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 as c_int);
    // SAFETY: an out-parameter.
    assert_eq!(unsafe { cudnnGetConvolutionBackwardDataAlgorithmMaxCount(handle, &mut count) }, SUCCESS);
    assert_eq!(count, DataAlgorithm::CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT as c_int);
    assert_eq!(cudnnSetTensor4dDescriptor(y, NCHW, F32, 2, 8, 3, 8), SUCCESS);
    assert_eq!(asked(handle, 4).0, BAD_PARAM, "no result of this convolution");
    let mixed = case(NCHW, F32, Data::CUDNN_DATA_DOUBLE as c_int);
    let [x, w, y] = mixed.tensors;
    let mut bytes = 0;
    // SAFETY: an out-parameter.
    let status = unsafe { cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, mixed.convolution, y, 0, &mut bytes) };
    assert_eq!(status, DATA_TYPE);
}

/// All three calls on integers that are exact in f32, with channels second and last, compared with
/// the definition.
#[test]
fn the_calls_compute_the_definition() {
    let window = crate::testing::WindowSpec {
        before: vec![1, 2],
        after: vec![1, 2],
        stride: vec![2, 1],
        ..plain(2, Data::CUDNN_DATA_FLOAT)
    };
    let specs = [1, 2, 3].map(|id| packed(id, Data::CUDNN_DATA_FLOAT, &SHAPES[id as usize - 1]));
    for (pass, algorithm) in [Pass::Forward, Pass::Data, Pass::Filter].into_iter().flat_map(|p| [(p, 0), (p, 1)]) {
        for format in [NCHW, NHWC] {
            let Case { tensors, convolution } = case(format, F32, F32);
            // These are in row-major order of the indices; with channels last, the order in memory
            // differs.
            let logical = SHAPES.map(|s| {
                (0..s.iter().product::<i64>()).map(|i| ((i * (s[0] + s[3])) % 7) as f64 - 3.0).collect::<Vec<_>>()
            });
            let place = |[_, c, h, w]: [i64; 4], i: usize| match format {
                NCHW => i,
                _ => {
                    let (c, hw) = (c as usize, (h * w) as usize);
                    (i / (c * hw) * hw + i % hw) * c + i / hw % c
                }
            };
            let mut memory: Vec<Vec<f32>> = (0..3)
                .map(|t| {
                    let mut memory = vec![0f32; logical[t].len()];
                    logical[t].iter().enumerate().for_each(|(i, &v)| memory[place(SHAPES[t], i)] = v as f32);
                    memory
                })
                .collect();
            let mut scratch = vec![0u8; 1 << 16];
            let factors = [2f32, -1.0];
            let pointers: Vec<*const c_void> =
                memory.iter_mut().map(|m| m.as_mut_ptr().cast::<c_void>().cast_const()).collect();
            let arguments = Arguments {
                pass,
                operands: [0, 1, 2].map(|i| (tensors[i], pointers[i])),
                convolution,
                algorithm,
                workspace: (scratch.as_mut_ptr().cast(), scratch.len()),
                factors: factors.each_ref().map(|f| std::ptr::from_ref(f).cast()),
            };
            // SAFETY: the factors are f32, and the memory is as large as the tensors.
            unsafe { arguments.launch().unwrap().run(&|_: *const u8, _: usize, _: bool, _: &str| true) };
            let to = crate::testing::result_of(pass);
            let sums = seven_loops(pass, &window, &specs, [&logical[0], &logical[1], &logical[2]]);
            for (i, (sum, old)) in sums.iter().zip(&logical[to]).enumerate() {
                let found = memory[to][place(SHAPES[to], i)];
                assert_eq!(f64::from(found), 2.0 * sum - old, "{pass:?} {algorithm} {format} {i}");
            }
        }
    }
}

#[test]
fn calls_are_checked() {
    let Case { tensors, convolution } = case(NCHW, F32, F32);
    let (one, mut number) = (1f32, [0f32; 16]);
    let at: *mut c_void = number.as_mut_ptr().cast();
    let factor: *const c_void = std::ptr::from_ref(&one).cast();
    let good = Arguments {
        pass: Pass::Forward,
        operands: tensors.map(|t| (t, at.cast_const())),
        convolution,
        algorithm: PRECOMPUTED,
        workspace: (at, 1 << 20),
        factors: [factor; 2],
    };
    // SAFETY: the factors are f32, or null.
    let status = |a: Arguments| unsafe { a.launch() }.map(|_| ()).map_err(|f| f.status);
    assert_eq!(status(good), Ok(()));
    assert_eq!(status(Arguments { workspace: (at, 16), ..good }), Err(SIZE_INSUFFICIENT));
    assert_eq!(status(Arguments { workspace: (null_mut(), 1 << 20), ..good }), Err(NULL_POINTER));
    assert_eq!(status(Arguments { workspace: (null_mut(), 0), algorithm: 0, ..good }), Ok(()));
    assert_eq!(status(Arguments { factors: [factor, null()], ..good }), Err(NULL_POINTER));
    let mut without = good;
    without.operands[1].1 = null();
    assert_eq!(status(without), Err(NULL_POINTER));
    without.operands[1] = without.operands[0];
    assert_eq!(status(without), Err(BAD_PARAM), "a tensor for a filter");
    // SAFETY: the handle is null, so no pointer is read.
    let called = unsafe {
        let [(x, _), (w, _), (y, _)] = good.operands;
        cudnnConvolutionForward(null_mut(), factor, x, at, w, at, convolution, 0, null_mut(), 0, factor, y, at)
    };
    assert_eq!(called, BAD_PARAM);
}

//! cuDNN on the simulated GPU, as a program uses it through cudarc's bindings: handles accept
//! existing streams only, graphs and calls run in stream order, also in a captured graph, and the
//! simulator checks their operands.

mod attention;
mod graph;
mod program;

use cudarc::cudnn::sys::{
    cudnnConvolutionFwdAlgo_t::*, cudnnConvolutionMode_t::*, cudnnDataType_t::*, cudnnMathType_t::*, cudnnStatus_t::*,
    cudnnTensorFormat_t::*, *,
};
use cudarc::driver::sys::{CUresult::CUDA_SUCCESS, CUstreamCaptureMode::*, *};
use graph::{Graph, at};
use isobit_simgpu_install::inside;
use program::{Program, findings, with_simulator};
use std::ptr::null_mut;

#[test]
fn handles_are_made_on_streams_that_there_are() {
    if !inside() {
        return with_simulator("handles_are_made_on_streams_that_there_are");
    }
    let Program { stream, handle } = Program::new();
    let mut current = null_mut();
    // SAFETY: an out-parameter; the library must reject a destroyed stream.
    unsafe {
        assert_eq!(cudnnGetStream(handle, &mut current), CUDNN_STATUS_SUCCESS);
        assert_eq!(current.cast(), stream);
        assert_eq!(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
        assert_eq!(cudnnSetStream(handle, stream.cast()), CUDNN_STATUS_BAD_PARAM);
        assert_eq!(cudnnSetStream(handle, null_mut()), CUDNN_STATUS_SUCCESS);
        assert_eq!(cudnnDestroy(handle), CUDNN_STATUS_SUCCESS);
        assert!(cudnnGetVersion() >= 90_000);
    }
}

#[test]
fn graphs_follow_the_stream_and_their_operands_are_checked() {
    if !inside() {
        return with_simulator("graphs_follow_the_stream_and_their_operands_are_checked");
    }
    let program = Program::new();
    let graph = Graph::convolution(&program);
    assert!(graph.workspace_bytes > 4 && graph.workspace_bytes <= 4096);
    let x = program.upload(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let (w, y, workspace) = (program.upload(&[1.0, 10.0]), program.upload(&[7.0; 4]), program.upload(&[0.0; 1024]));
    assert_eq!(graph.execute([x, w, y], workspace), CUDNN_STATUS_SUCCESS);
    assert_eq!(program.download(y), [21.0, 32.0, 43.0, 54.0]);
    assert_eq!(findings(), []);
    // A filter that is one number too short, and a workspace that is too small.
    let (short, y) = (program.upload(&[1.0]), program.upload(&[7.0; 4]));
    assert_eq!(graph.execute([x, short, y], workspace), CUDNN_STATUS_SUCCESS);
    assert_eq!(program.download(y), [7.0; 4], "nothing was computed from what is not there");
    let found = findings();
    assert!(found.len() == 1 && found[0].0 == "out_of_bounds", "{found:?}");
    assert!(found[0].1.contains("cudnnBackendExecute: w"), "{found:?}");
    assert_eq!(graph.execute([x, w, y], program.upload(&[0.0])), CUDNN_STATUS_SUCCESS);
    assert_eq!(program.download(y), [7.0; 4]);
    let found = findings();
    assert!(found.len() == 1 && found[0].1.contains("workspace"), "{found:?}");
    assert_eq!(graph.execute([x, w, 0], workspace), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    // The old result is not read if it does not count; unwritten operands are reported as findings.
    let nothing = program.memory(16);
    assert_eq!(graph.execute([x, w, nothing], workspace), CUDNN_STATUS_SUCCESS);
    assert_eq!(program.download(nothing), [21.0, 32.0, 43.0, 54.0]);
    assert_eq!(findings(), []);
    assert_eq!(graph.execute([program.memory(20), w, y], workspace), CUDNN_STATUS_SUCCESS);
    program.download(y);
    let found = findings();
    assert!(found.len() == 1 && found[0].0 == "uninitialised_read" && found[0].1.contains(": x"), "{found:?}");
}

#[test]
fn attention_reads_and_writes_within_lengths() {
    if !inside() {
        return with_simulator("attention_reads_and_writes_within_lengths");
    }
    let program = Program::new();
    let graph = Graph::new(&program, &attention::operations(), 0);
    assert_eq!(graph.workspace_bytes, 0);
    let lengths = |n: u32| program.upload(&[f32::from_bits(n)]);
    let one = f32::from_bits(0x3c00_3c00);
    // One query, and two of the three keys. The scores are equal, so the result is the mean of the
    // values, 1 and 3.
    let (q, k) = (program.upload(&[one; 4]), program.upload(&[one; 8]));
    let three = f32::from_bits(0x4200_4200);
    let v = program.upload(&[one, one, one, one, three, three, three, three]);
    let untouched = [f32::from_bits(0x7777_7777); 4];
    let o = program.upload(&untouched);
    let scale = [1f32];
    let scale = scale.as_ptr() as CUdeviceptr;
    let run = |k, v, o, keys| {
        assert_eq!(graph.execute([q, k, v, o, lengths(1), lengths(keys), scale], 0), CUDNN_STATUS_SUCCESS);
        program.download(o).map(f32::to_bits)
    };
    assert_eq!(run(k, v, o, 2), [0x4000_4000; 4]);
    assert_eq!(findings(), []);
    let o = program.upload(&untouched);
    assert_eq!(run(k, v, o, 0), untouched.map(f32::to_bits));
    assert_eq!(findings(), []);
    // Keys and values that are not there.
    assert_eq!(run(k, v, o, 3), untouched.map(f32::to_bits));
    let found = findings();
    assert!(found.len() == 2 && found.iter().all(|(kind, _)| kind == "out_of_bounds"), "{found:?}");
    assert!(found[0].1.contains("cudnnBackendExecute: k") && found[1].1.contains(": v"), "{found:?}");
    run(program.memory(32), v, o, 2);
    let found = findings();
    assert!(found.len() == 1 && found[0].0 == "uninitialised_read" && found[0].1.contains(": k"), "{found:?}");
    // A result without room.
    let short = program.memory(8);
    assert_eq!(graph.execute([q, k, v, short, lengths(1), lengths(2), scale], 0), CUDNN_STATUS_SUCCESS);
    program.download(o);
    let found = findings();
    assert!(found.len() == 1 && found[0].0 == "out_of_bounds" && found[0].1.contains(": o"), "{found:?}");
}

#[test]
fn a_captured_graph_computes_at_each_launch() {
    if !inside() {
        return with_simulator("a_captured_graph_computes_at_each_launch");
    }
    let program = Program::new();
    let convolution = Graph::convolution(&program);
    let x = program.upload(&[0.0; 5]);
    let (w, y, workspace) = (program.upload(&[1.0, 10.0]), program.upload(&[7.0; 4]), program.upload(&[0.0; 1024]));
    let (mut captured, mut launched) = (null_mut(), null_mut());
    // SAFETY: the calls write out-parameters, and later calls get what these received.
    unsafe {
        assert_eq!(cuStreamBeginCapture_v2(program.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
        assert_eq!(convolution.execute([x, w, y], workspace), CUDNN_STATUS_SUCCESS);
        assert_eq!(cuStreamEndCapture(program.stream, &mut captured), CUDA_SUCCESS);
        assert_eq!(cuGraphInstantiateWithFlags(&mut launched, captured, 0), CUDA_SUCCESS);
    }
    assert_eq!(program.download(y), [7.0; 4], "captured, not executed");
    for (numbers, expected) in
        [([1.0, 2.0, 3.0, 4.0, 5.0], [21.0, 32.0, 43.0, 54.0]), ([5.0, 4.0, 3.0, 2.0, 1.0], [45.0, 34.0, 23.0, 12.0])]
    {
        program.write(x, &numbers);
        // SAFETY: an instance of the graph, and a stream.
        assert_eq!(unsafe { cuGraphLaunch(launched, program.stream) }, CUDA_SUCCESS);
        assert_eq!(program.download(y), expected);
    }
    assert_eq!(findings(), []);
}

#[test]
fn a_call_of_the_older_functions() {
    if !inside() {
        return with_simulator("a_call_of_the_older_functions");
    }
    let program = Program::new();
    let (mut x, mut w, mut y, mut window, mut bytes) = (null_mut(), null_mut(), null_mut(), null_mut(), 0);
    let input = program.upload(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let (filter, result) = (program.upload(&[1.0, 10.0]), program.upload(&[7.0; 4]));
    let workspace = program.upload(&[0.0; 1024]);
    let (alpha, beta) = ([2f32], [-1f32]);
    let (handle, algorithm) = (program.handle, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
    let [input, filter, output, scratch] = [input, filter, result, workspace].map(|p| p as *mut _);
    // SAFETY: the calls write out-parameters, and later calls get what these received; the
    // simulator checks the operands.
    unsafe {
        let made = [
            cudnnCreateTensorDescriptor(&mut x),
            cudnnCreateFilterDescriptor(&mut w),
            cudnnCreateTensorDescriptor(&mut y),
            cudnnCreateConvolutionDescriptor(&mut window),
            cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, 5),
            cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 1, 1, 1, 2),
            cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, 4),
            cudnnSetConvolution2dDescriptor(window, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
            cudnnSetConvolutionMathType(window, CUDNN_FMA_MATH),
            cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, window, y, algorithm, &mut bytes),
        ];
        assert_eq!(made, [CUDNN_STATUS_SUCCESS; 10]);
        assert!(bytes > 0 && bytes <= 4096);
        let (alpha, beta) = (at(&alpha), at(&beta));
        let call = cudnnConvolutionForward;
        let status = call(handle, alpha, x, input, w, filter, window, algorithm, scratch, bytes, beta, y, output);
        assert_eq!(status, CUDNN_STATUS_SUCCESS);
    }
    assert_eq!(program.download(result), [42.0 - 7.0, 64.0 - 7.0, 86.0 - 7.0, 108.0 - 7.0]);
    assert_eq!(findings(), []);
}

//! Tests MIOpen as a program uses it, through the bindings, on the simulated GPU: handles are
//! created on existing streams, convolutions run in stream order, and accesses to their operands
//! are checked.

use hip_sys::Hip;
use isobit_simgpu_install::{inside, rocm};
use miopen_sys::*;
use std::ffi::c_void;
use std::ptr::null_mut;

#[test]
fn handles_are_made_on_streams_that_there_are() {
    if !inside() {
        let mut child =
            rocm().and_then(|s| s.child("handles_are_made_on_streams_that_there_are")).expect("the simulator is built");
        let status = child.env_remove("ISOBIT_MIOPEN_LIBRARY").status();
        assert!(status.as_ref().is_ok_and(|s| s.success()), "{status:?}");
        return;
    }
    let (hip, miopen) = (Hip::get().expect("HIP"), Miopen::get().expect("MIOpen"));
    let (mut stream, mut handle) = (null_mut(), null_mut());
    // SAFETY: the pointers are out-parameters, and then the values that they received, which are
    // destroyed once. The library must refuse the stream that no longer exists.
    unsafe {
        assert_eq!((hip.hipStreamCreateWithFlags)(&mut stream, hip_sys::hipStreamNonBlocking), 0);
        assert_eq!((miopen.miopenCreateWithStream)(&mut handle, stream), miopenStatusSuccess);
        assert_eq!((miopen.miopenDestroy)(handle), miopenStatusSuccess);
        assert_eq!((hip.hipStreamDestroy)(stream), 0);
        assert_eq!((miopen.miopenCreateWithStream)(&mut handle, stream), miopenStatusBadParm);
        assert_eq!((miopen.miopenDestroy)(handle), miopenStatusBadParm, "destroyed already");
    }
}

/// An f32 convolution of two elements by one, in immediate mode.
struct Convolution {
    hip: &'static Hip,
    miopen: &'static Miopen,
    stream: hip_sys::hipStream_t,
    handle: miopenHandle_t,
    conv: miopenConvolutionDescriptor_t,
    tensors: [miopenTensorDescriptor_t; 3],
}

impl Convolution {
    fn new() -> Self {
        let (hip, miopen) = (Hip::get().expect("HIP"), Miopen::get().expect("MIOpen"));
        let (mut stream, mut handle, mut conv, mut tensors) = (null_mut(), null_mut(), null_mut(), [null_mut(); 3]);
        // SAFETY: the pointers are out-parameters, and then the values that they received; the
        // arrays have the number of elements that is passed.
        unsafe {
            assert_eq!((hip.hipStreamCreateWithFlags)(&mut stream, hip_sys::hipStreamNonBlocking), 0);
            assert_eq!((miopen.miopenCreateWithStream)(&mut handle, stream), 0);
            assert_eq!((miopen.miopenCreateConvolutionDescriptor)(&mut conv), 0);
            let [zero, one] = [[0, 0], [1, 1]];
            let initialize = miopen.miopenInitConvolutionNdDescriptor;
            assert_eq!(initialize(conv, 2, zero.as_ptr(), one.as_ptr(), one.as_ptr(), miopenConvolution), 0);
            for (tensor, width) in tensors.iter_mut().zip([5, 2, 4]) {
                assert_eq!((miopen.miopenCreateTensorDescriptor)(tensor), 0);
                let (dims, strides) = ([1, 1, 1, width], [width, width, width, 1]);
                let set = miopen.miopenSetTensorDescriptor;
                assert_eq!(set(*tensor, miopenFloat, 4, dims.as_ptr(), strides.as_ptr()), 0);
            }
        }
        Self { hip, miopen, stream, handle, conv, tensors }
    }

    fn upload(&self, numbers: &[f32]) -> *mut c_void {
        let mut at = null_mut();
        let bytes = size_of_val(numbers);
        // SAFETY: the pointer is an out-parameter, and then a buffer of the numbers' size.
        unsafe {
            assert_eq!((self.hip.hipMalloc)(&mut at, bytes), 0);
            let kind = hip_sys::hipMemcpyHostToDevice;
            assert_eq!((self.hip.hipMemcpyAsync)(at, numbers.as_ptr().cast(), bytes, kind, self.stream), 0);
        }
        at
    }

    fn download(&self, at: *mut c_void, count: usize) -> Vec<f32> {
        let mut numbers = vec![0f32; count];
        // SAFETY: both sides have this size, and the host memory lives until the stream is
        // synchronized.
        unsafe {
            let kind = hip_sys::hipMemcpyDeviceToHost;
            assert_eq!((self.hip.hipMemcpyAsync)(numbers.as_mut_ptr().cast(), at, count * 4, kind, self.stream), 0);
            assert_eq!((self.hip.hipStreamSynchronize)(self.stream), 0);
        }
        numbers
    }

    /// Runs the last solution, which needs a workspace.
    fn run(&self, [x, w, y]: [*mut c_void; 3], workspace: *mut c_void) -> miopenStatus_t {
        let (mut solutions, mut count) = ([miopenConvSolution_t::default(); 8], 0);
        let [x_desc, w_desc, y_desc] = self.tensors;
        // SAFETY: the handle and descriptors are live, and the array has room; the simulator checks
        // the operands.
        unsafe {
            let ask = self.miopen.miopenConvolutionForwardGetSolution;
            assert_eq!(ask(self.handle, w_desc, x_desc, self.conv, y_desc, 8, &mut count, solutions.as_mut_ptr()), 0);
            let last = solutions[count - 1];
            assert!(last.workspace_size > 0 && last.workspace_size <= 4096);
            let ready = self.miopen.miopenConvolutionForwardCompileSolution;
            assert_eq!(ready(self.handle, w_desc, x_desc, self.conv, y_desc, last.solution_id), 0);
            let call = self.miopen.miopenConvolutionForwardImmediate;
            let (bytes, id) = (last.workspace_size, last.solution_id);
            call(self.handle, w_desc, w, x_desc, x, self.conv, y_desc, y, workspace, bytes, id)
        }
    }

    fn findings(&self) -> Vec<(String, String)> {
        let text = isobit_simgpu_library_common::report::take(self.hip.file()).expect("the simulator's HIP library");
        let report: serde_json::Value = serde_json::from_str(&text).expect("the simulator reports JSON");
        let field = |finding: &serde_json::Value, name: &str| finding[name].as_str().unwrap_or_default().to_string();
        let findings = report["findings"].as_array().expect("findings");
        findings.iter().map(|f| (field(f, "kind"), f.to_string())).collect()
    }
}

#[test]
fn convolutions_follow_the_stream_and_their_operands_are_checked() {
    if !inside() {
        let installed = rocm().expect("the simulator is built");
        for defer in ["0", "1"] {
            let child = installed.child("convolutions_follow_the_stream_and_their_operands_are_checked");
            let mut child = child.expect("this program starts again");
            let status = child.env("ISOBIT_SIM_DEFER", defer).env_remove("ISOBIT_MIOPEN_LIBRARY").status();
            assert!(status.as_ref().is_ok_and(|s| s.success()), "ISOBIT_SIM_DEFER={defer}: {status:?}");
        }
        return;
    }
    let conv = Convolution::new();
    let x = conv.upload(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let (w, y, workspace) = (conv.upload(&[1.0, 10.0]), conv.upload(&[7.0; 4]), conv.upload(&[0.0; 1024]));
    assert_eq!(conv.run([x, w, y], workspace), miopenStatusSuccess);
    assert_eq!(conv.download(y, 4), [21.0, 32.0, 43.0, 54.0]);
    assert_eq!(conv.findings(), []);
    // A filter that is one number too short, and a missing workspace.
    let (short, y) = (conv.upload(&[1.0]), conv.upload(&[7.0; 4]));
    assert_eq!(conv.run([x, short, y], workspace), miopenStatusSuccess);
    assert_eq!(conv.download(y, 4), [7.0; 4], "nothing was computed from missing data");
    let found = conv.findings();
    assert!(found.len() == 1 && found[0].0 == "out_of_bounds" && found[0].1.contains("Immediate: w"), "{found:?}");
    assert_eq!(conv.run([x, w, y], conv.upload(&[0.0])), miopenStatusSuccess);
    assert_eq!(conv.download(y, 4), [7.0; 4]);
    let found = conv.findings();
    assert!(found.len() == 1 && found[0].1.contains("workspace"), "{found:?}");
    assert_eq!(conv.run([x, w, null_mut()], workspace), miopenStatusBadParm);
}

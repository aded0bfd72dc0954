//! Graphs with a plan, and one of them: a convolution of five elements with a filter of two.

use crate::program::Program;
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnBackendHeurMode_t::*, cudnnConvolutionMode_t::*, cudnnDataType_t::*, cudnnStatus_t::*, *,
};
use cudarc::driver::sys::CUdeviceptr;
use std::ffi::c_void;
use std::ptr::null_mut;

pub type Attribute = (cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, i64, *const c_void);

/// Creates a descriptor with its attributes and finalizes it.
pub fn descriptor(kind: cudnnBackendDescriptorType_t, attributes: &[Attribute]) -> cudnnBackendDescriptor_t {
    let mut made = null_mut();
    // SAFETY: an out-parameter, and then attributes with the number of elements that they state.
    unsafe {
        assert_eq!(cudnnBackendCreateDescriptor(kind, &mut made), CUDNN_STATUS_SUCCESS);
        for &(name, ty, count, at) in attributes {
            let status = cudnnBackendSetAttribute(made, name, ty, count, at);
            assert_eq!(status, CUDNN_STATUS_SUCCESS, "{name:?}");
        }
        assert_eq!(cudnnBackendFinalize(made), CUDNN_STATUS_SUCCESS, "{kind:?}");
    }
    made
}

pub fn at<T>(values: &[T]) -> *const c_void {
    values.as_ptr().cast()
}

/// A graph and a plan for it.
pub struct Graph<'a> {
    program: &'a Program,
    plan: cudnnBackendDescriptor_t,
    pub workspace_bytes: usize,
}

/// Creates the operation and its descriptors.
fn operation() -> cudnnBackendDescriptor_t {
    let (zero, one, two, ints) = ([0i64; 2], [1i64; 2], [2i64], CUDNN_TYPE_INT64);
    let (float, mode) = ([CUDNN_DATA_FLOAT], [CUDNN_CROSS_CORRELATION]);
    let window = [
        (CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, at(&float)),
        (CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, at(&mode)),
        (CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, ints, 1, at(&two)),
        (CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, ints, 2, at(&zero)),
        (CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, ints, 2, at(&zero)),
        (CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, ints, 2, at(&one)),
        (CUDNN_ATTR_CONVOLUTION_DILATIONS, ints, 2, at(&one)),
    ];
    let window = [descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, &window)];
    let tensors = [(1i64, 5i64), (2, 2), (3, 4)].map(|(id, width)| {
        let (dims, strides, id, alignment) = ([1, 1, 1, width], [width, width, width, 1], [id], [4i64]);
        let attributes = [
            (CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, at(&float)),
            (CUDNN_ATTR_TENSOR_DIMENSIONS, ints, 4, at(&dims)),
            (CUDNN_ATTR_TENSOR_STRIDES, ints, 4, at(&strides)),
            (CUDNN_ATTR_TENSOR_UNIQUE_ID, ints, 1, at(&id)),
            (CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ints, 1, at(&alignment)),
        ];
        descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &attributes)
    });
    let (alpha, beta, descriptors) = ([1f32], [0f32], CUDNN_TYPE_BACKEND_DESCRIPTOR);
    let attributes = [
        (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, at(&alpha)),
        (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, at(&beta)),
        (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, descriptors, 1, at(&window)),
        (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, descriptors, 1, at(&tensors[..1])),
        (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, descriptors, 1, at(&tensors[1..2])),
        (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, descriptors, 1, at(&tensors[2..])),
    ];
    descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, &attributes)
}

impl<'a> Graph<'a> {
    /// Creates the convolution for the second engine: it needs a workspace, and rounds like f32.
    pub fn convolution(program: &'a Program) -> Self {
        Self::new(program, &[operation()], 1)
    }

    /// Creates a graph of operations for the engine at a place in the heuristic's list.
    pub fn new(program: &'a Program, operations: &[cudnnBackendDescriptor_t], engine: usize) -> Self {
        let (handle, mode) = ([program.handle], [CUDNN_HEUR_MODE_A]);
        let descriptors = CUDNN_TYPE_BACKEND_DESCRIPTOR;
        let attributes = [
            (CUDNN_ATTR_OPERATIONGRAPH_OPS, descriptors, operations.len() as i64, at(operations)),
            (CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, at(&handle)),
        ];
        let graph = [descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &attributes)];
        let attributes = [
            (CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, descriptors, 1, at(&graph)),
            (CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, at(&mode)),
        ];
        let heuristic = descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &attributes);
        let (mut configs, mut count, mut bytes) = ([null_mut(); 2], 0, [0i64]);
        for config in &mut configs {
            // SAFETY: an out-parameter.
            let status = unsafe { cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, config) };
            assert_eq!(status, CUDNN_STATUS_SUCCESS);
        }
        let (name, to) = (CUDNN_ATTR_ENGINEHEUR_RESULTS, configs.as_mut_ptr().cast());
        // SAFETY: out-parameters, and an array of the given number of descriptors, which the call
        // fills in.
        let status = unsafe { cudnnBackendGetAttribute(heuristic, name, descriptors, 2, &mut count, to) };
        assert_eq!((status, count > engine as i64), (CUDNN_STATUS_SUCCESS, true));
        let attributes = [
            (CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, at(&handle)),
            (CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, descriptors, 1, at(&configs[engine..])),
        ];
        let plan = descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &attributes);
        let (name, to) = (CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, bytes.as_mut_ptr().cast());
        // SAFETY: out-parameters, of one element.
        let status = unsafe { cudnnBackendGetAttribute(plan, name, CUDNN_TYPE_INT64, 1, &mut count, to) };
        assert_eq!((status, count), (CUDNN_STATUS_SUCCESS, 1));
        Self { program, plan, workspace_bytes: bytes[0] as usize }
    }

    /// Executes the graph with the tensors 1, 2 and so on.
    pub fn execute<const N: usize>(&self, operands: [CUdeviceptr; N], workspace: CUdeviceptr) -> cudnnStatus_t {
        let (ids, count, workspace): ([i64; N], _, _) = (std::array::from_fn(|i| i as i64 + 1), N as i64, [workspace]);
        let attributes = [
            (CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, at(&ids)),
            (CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, at(&operands)),
            (CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, at(&workspace)),
        ];
        let pack = descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &attributes);
        // SAFETY: live descriptors, and the pack is destroyed once; the simulator checks the
        // operands.
        unsafe {
            let status = cudnnBackendExecute(self.program.handle, self.plan, pack);
            assert_eq!(cudnnBackendDestroyDescriptor(pack), CUDNN_STATUS_SUCCESS);
            status
        }
    }
}

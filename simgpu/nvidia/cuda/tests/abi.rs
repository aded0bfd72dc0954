//! Compares structures and codes with those of an independent binding to NVIDIA's header.

use cudarc::driver::sys;
use isobit_simgpu_cuda::Code;
use isobit_simgpu_cuda::copy_shapes::{Memcpy2D, Memcpy3D, Place, Place2D};
use isobit_simgpu_cuda::device::Uuid;
use isobit_simgpu_cuda::graph::{InstantiateParams, UpdateResult};
use isobit_simgpu_cuda::graph_edges::EdgeData;
use isobit_simgpu_cuda::graph_node::{HostNodeParams, KernelNodeParams, KernelNodeParamsV2, MemsetNodeParams};
use isobit_simgpu_cuda::launch::{LaunchAttribute, LaunchConfig};
use isobit_simgpu_cuda::pool::{Access, Location, PoolProps};
use std::mem::offset_of;

/// Asserts that two structures have the same size, and fields the same offsets.
macro_rules! alike {
    ($($own:ident $theirs:ident: $($field:ident $name:ident),*;)*) => {$(
        assert_eq!(size_of::<$own>(), size_of::<sys::$theirs>(), stringify!($own));
        $(assert_eq!(offset_of!($own, $field), offset_of!(sys::$theirs, $name), "{}", stringify!($own.$field));)*
    )*};
}

#[test]
fn structures_are_those_of_the_header() {
    alike! {
        Memcpy3D CUDA_MEMCPY3D: from srcXInBytes, to dstXInBytes, width WidthInBytes, height Height, depth Depth;
        Memcpy2D CUDA_MEMCPY2D: from srcXInBytes, to dstXInBytes, width WidthInBytes, height Height;
        KernelNodeParams CUDA_KERNEL_NODE_PARAMS_v1:
            func func, grid gridDimX, block blockDimX, shared sharedMemBytes, params kernelParams, extra extra;
        KernelNodeParamsV2 CUDA_KERNEL_NODE_PARAMS: launch func, kernel kern, context ctx;
        MemsetNodeParams CUDA_MEMSET_NODE_PARAMS:
            to dst, pitch pitch, value value, element elementSize, width width, height height;
        HostNodeParams CUDA_HOST_NODE_PARAMS: func fn_, data userData;
        InstantiateParams CUDA_GRAPH_INSTANTIATE_PARAMS:
            flags flags, upload hUploadStream, error_node hErrNode_out, result result_out;
        UpdateResult CUgraphExecUpdateResultInfo: result result, node errorNode, from errorFromNode;
        EdgeData CUgraphEdgeData:;
        LaunchConfig CUlaunchConfig:
            grid gridDimX, block blockDimX, shared sharedMemBytes, stream hStream, attributes attrs, count numAttrs;
        LaunchAttribute CUlaunchAttribute: id id, value value;
        PoolProps CUmemPoolProps: kind allocType, handles handleTypes, location location,
            security win32SecurityAttributes, most maxSize, usage usage, reserved reserved;
        Location CUmemLocation: kind type_;
        Access CUmemAccessDesc: location location, flags flags;
        Uuid CUuuid:;
    }
    assert_eq!(
        [offset_of!(Place, kind), offset_of!(Place, device), offset_of!(Place, pitch), offset_of!(Place, height)],
        [
            offset_of!(sys::CUDA_MEMCPY3D, srcMemoryType),
            offset_of!(sys::CUDA_MEMCPY3D, srcDevice),
            offset_of!(sys::CUDA_MEMCPY3D, srcPitch),
            offset_of!(sys::CUDA_MEMCPY3D, srcHeight)
        ]
    );
    assert_eq!(
        [offset_of!(Place2D, kind), offset_of!(Place2D, device), offset_of!(Place2D, pitch)],
        [
            offset_of!(sys::CUDA_MEMCPY2D, srcMemoryType),
            offset_of!(sys::CUDA_MEMCPY2D, srcDevice),
            offset_of!(sys::CUDA_MEMCPY2D, srcPitch)
        ]
    );
}

#[test]
fn codes_are_those_of_the_header() {
    use sys::CUresult::*;
    let known = [
        (Code::SUCCESS, CUDA_SUCCESS),
        (Code::INVALID_VALUE, CUDA_ERROR_INVALID_VALUE),
        (Code::OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY),
        (Code::NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED),
        (Code::INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE),
        (Code::INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE),
        (Code::INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT),
        (Code::NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU),
        (Code::INVALID_PTX, CUDA_ERROR_INVALID_PTX),
        (Code::INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE),
        (Code::NOT_FOUND, CUDA_ERROR_NOT_FOUND),
        (Code::NOT_READY, CUDA_ERROR_NOT_READY),
        (Code::ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS),
        (Code::CONTEXT_IS_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED),
        (Code::ASSERT, CUDA_ERROR_ASSERT),
        (Code::ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION),
        (Code::MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS),
        (Code::LAUNCH_FAILURE, CUDA_ERROR_LAUNCH_FAILED),
        (Code::NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED),
        (Code::STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
        (Code::GRAPH_EXEC_UPDATE_FAILURE, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE),
        (Code::UNKNOWN, CUDA_ERROR_UNKNOWN),
    ];
    for (own, theirs) in known {
        assert_eq!(own.0, theirs as i32);
        assert_eq!(own.name().to_str().unwrap(), format!("{theirs:?}"));
    }
}

#[test]
fn every_code_has_its_name_and_meaning() {
    assert_eq!(Code::SUCCESS.name(), c"CUDA_SUCCESS");
    assert_eq!(Code(719).name(), c"CUDA_ERROR_LAUNCH_FAILED");
    assert_eq!(Code(209).meaning(), c"no kernel image is available for execution on the device");
    assert!(Code(719).is_known() && !Code(998).is_known());
}

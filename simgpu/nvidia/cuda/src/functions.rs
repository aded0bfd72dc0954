//! Every function of the API: the name that programs ask for, the CUDA version that introduced it,
//! and the name of its export. One name can have several versions: a program gets the newest one
//! that its CUDA version knows.

use std::ffi::c_void;

/// A function of the API.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// The name of its export.
    pub(crate) function: &'static str,
    /// The CUDA version: major times 1000 plus minor times 10.
    pub(crate) since: i32,
    pub(crate) address: fn() -> *const c_void,
}

macro_rules! functions {
    ($($module:ident: $($name:ident $since:literal $function:ident),*;)*) => {
        pub(crate) const FUNCTIONS: &[Entry] = &[$($(
            Entry {
                name: stringify!($name),
                function: stringify!($function),
                since: $since,
                address: || crate::$module::$function as *const c_void,
            },
        )*)*];
    };
}

functions! {
    attribute:
        cuDeviceGetAttribute 2000 cuDeviceGetAttribute;
    capture:
        cuStreamBeginCapture 10010 cuStreamBeginCapture_v2,
        cuStreamEndCapture 10000 cuStreamEndCapture,
        cuStreamGetCaptureInfo 11030 cuStreamGetCaptureInfo_v2,
        cuStreamGetCaptureInfo 12030 cuStreamGetCaptureInfo_v3,
        cuStreamIsCapturing 10000 cuStreamIsCapturing,
        cuThreadExchangeStreamCaptureMode 10010 cuThreadExchangeStreamCaptureMode;
    context:
        cuCtxCreate 3020 cuCtxCreate_v2,
        cuCtxCreate 11040 cuCtxCreate_v3,
        cuCtxCreate 12050 cuCtxCreate_v4,
        cuCtxDestroy 4000 cuCtxDestroy_v2,
        cuCtxGetApiVersion 3020 cuCtxGetApiVersion,
        cuCtxGetCacheConfig 3020 cuCtxGetCacheConfig,
        cuCtxGetCurrent 4000 cuCtxGetCurrent,
        cuCtxGetDevice 2000 cuCtxGetDevice,
        cuCtxGetDevice 13000 cuCtxGetDevice_v2,
        cuCtxGetFlags 7000 cuCtxGetFlags,
        cuCtxGetId 12000 cuCtxGetId,
        cuCtxGetSharedMemConfig 4020 cuCtxGetSharedMemConfig,
        cuCtxGetStreamPriorityRange 5050 cuCtxGetStreamPriorityRange,
        cuCtxPopCurrent 4000 cuCtxPopCurrent_v2,
        cuCtxPushCurrent 4000 cuCtxPushCurrent_v2,
        cuCtxResetPersistingL2Cache 11000 cuCtxResetPersistingL2Cache,
        cuCtxSetCacheConfig 3020 cuCtxSetCacheConfig,
        cuCtxSetCurrent 4000 cuCtxSetCurrent,
        cuCtxSetFlags 12010 cuCtxSetFlags,
        cuCtxSetSharedMemConfig 4020 cuCtxSetSharedMemConfig,
        cuCtxSynchronize 2000 cuCtxSynchronize,
        cuCtxSynchronize 13000 cuCtxSynchronize_v2;
    copy:
        cuMemcpy 4000 cuMemcpy,
        cuMemcpyAsync 4000 cuMemcpyAsync,
        cuMemcpyDtoD 3020 cuMemcpyDtoD_v2,
        cuMemcpyDtoDAsync 3020 cuMemcpyDtoDAsync_v2,
        cuMemcpyDtoH 3020 cuMemcpyDtoH_v2,
        cuMemcpyDtoHAsync 3020 cuMemcpyDtoHAsync_v2,
        cuMemcpyHtoD 3020 cuMemcpyHtoD_v2,
        cuMemcpyHtoDAsync 3020 cuMemcpyHtoDAsync_v2;
    copy_shapes:
        cuMemcpy2D 3020 cuMemcpy2D_v2,
        cuMemcpy2DAsync 3020 cuMemcpy2DAsync_v2,
        cuMemcpy2DUnaligned 3020 cuMemcpy2DUnaligned_v2,
        cuMemcpy3D 3020 cuMemcpy3D_v2,
        cuMemcpy3DAsync 3020 cuMemcpy3DAsync_v2,
        cuMemcpyPeer 4000 cuMemcpyPeer,
        cuMemcpyPeerAsync 4000 cuMemcpyPeerAsync;
    device:
        cuDeviceComputeCapability 2000 cuDeviceComputeCapability,
        cuDeviceGet 2000 cuDeviceGet,
        cuDeviceGetByPCIBusId 4010 cuDeviceGetByPCIBusId,
        cuDeviceGetCount 2000 cuDeviceGetCount,
        cuDeviceGetExecAffinitySupport 11040 cuDeviceGetExecAffinitySupport,
        cuDeviceGetLuid 10000 cuDeviceGetLuid,
        cuDeviceGetName 2000 cuDeviceGetName,
        cuDeviceGetPCIBusId 4010 cuDeviceGetPCIBusId,
        cuDeviceGetUuid 9020 cuDeviceGetUuid,
        cuDeviceGetUuid 11040 cuDeviceGetUuid_v2,
        cuDeviceTotalMem 3020 cuDeviceTotalMem_v2;
    event:
        cuEventCreate 2000 cuEventCreate,
        cuEventDestroy 4000 cuEventDestroy_v2,
        cuEventElapsedTime 2000 cuEventElapsedTime,
        cuEventElapsedTime 12080 cuEventElapsedTime_v2,
        cuEventQuery 2000 cuEventQuery,
        cuEventRecord 2000 cuEventRecord,
        cuEventRecordWithFlags 11010 cuEventRecordWithFlags,
        cuEventSynchronize 2000 cuEventSynchronize;
    function:
        cuFuncGetAttribute 2020 cuFuncGetAttribute,
        cuFuncGetModule 11000 cuFuncGetModule,
        cuFuncGetName 12030 cuFuncGetName,
        cuFuncGetParamInfo 12040 cuFuncGetParamInfo,
        cuFuncIsLoaded 12040 cuFuncIsLoaded,
        cuFuncLoad 12040 cuFuncLoad,
        cuFuncSetAttribute 9000 cuFuncSetAttribute,
        cuFuncSetCacheConfig 3000 cuFuncSetCacheConfig,
        cuFuncSetSharedMemConfig 4020 cuFuncSetSharedMemConfig;
    graph:
        cuGraphClone 10000 cuGraphClone,
        cuGraphCreate 10000 cuGraphCreate,
        cuGraphDestroy 10000 cuGraphDestroy,
        cuGraphExecDestroy 10000 cuGraphExecDestroy,
        cuGraphExecUpdate 12000 cuGraphExecUpdate_v2,
        cuGraphInstantiate 11000 cuGraphInstantiate_v2,
        cuGraphInstantiateWithFlags 11040 cuGraphInstantiateWithFlags,
        cuGraphInstantiateWithParams 12000 cuGraphInstantiateWithParams,
        cuGraphLaunch 10000 cuGraphLaunch,
        cuGraphUpload 11010 cuGraphUpload;
    graph_edges:
        cuGraphGetEdges 10000 cuGraphGetEdges,
        cuGraphGetEdges 12030 cuGraphGetEdges_v2,
        cuGraphGetNodes 10000 cuGraphGetNodes,
        cuGraphGetRootNodes 10000 cuGraphGetRootNodes,
        cuGraphNodeFindInClone 10000 cuGraphNodeFindInClone,
        cuGraphNodeGetDependencies 10000 cuGraphNodeGetDependencies,
        cuGraphNodeGetDependencies 12030 cuGraphNodeGetDependencies_v2,
        cuGraphNodeGetDependentNodes 10000 cuGraphNodeGetDependentNodes,
        cuGraphNodeGetDependentNodes 12030 cuGraphNodeGetDependentNodes_v2,
        cuGraphNodeGetType 10000 cuGraphNodeGetType;
    graph_node:
        cuGraphAddChildGraphNode 10000 cuGraphAddChildGraphNode,
        cuGraphAddEmptyNode 10000 cuGraphAddEmptyNode,
        cuGraphAddHostNode 10000 cuGraphAddHostNode,
        cuGraphAddKernelNode 10000 cuGraphAddKernelNode,
        cuGraphAddKernelNode 12000 cuGraphAddKernelNode_v2,
        cuGraphAddMemcpyNode 10000 cuGraphAddMemcpyNode,
        cuGraphAddMemsetNode 10000 cuGraphAddMemsetNode;
    graph_params:
        cuGraphChildGraphNodeGetGraph 10000 cuGraphChildGraphNodeGetGraph,
        cuGraphExecChildGraphNodeSetParams 11010 cuGraphExecChildGraphNodeSetParams,
        cuGraphExecHostNodeSetParams 10020 cuGraphExecHostNodeSetParams,
        cuGraphExecKernelNodeSetParams 10010 cuGraphExecKernelNodeSetParams,
        cuGraphExecKernelNodeSetParams 12000 cuGraphExecKernelNodeSetParams_v2,
        cuGraphExecMemcpyNodeSetParams 10020 cuGraphExecMemcpyNodeSetParams,
        cuGraphExecMemsetNodeSetParams 10020 cuGraphExecMemsetNodeSetParams,
        cuGraphHostNodeGetParams 10000 cuGraphHostNodeGetParams,
        cuGraphHostNodeSetParams 10000 cuGraphHostNodeSetParams,
        cuGraphKernelNodeGetParams 10000 cuGraphKernelNodeGetParams,
        cuGraphKernelNodeGetParams 12000 cuGraphKernelNodeGetParams_v2,
        cuGraphKernelNodeSetParams 10000 cuGraphKernelNodeSetParams,
        cuGraphKernelNodeSetParams 12000 cuGraphKernelNodeSetParams_v2,
        cuGraphMemcpyNodeGetParams 10000 cuGraphMemcpyNodeGetParams,
        cuGraphMemcpyNodeSetParams 10000 cuGraphMemcpyNodeSetParams,
        cuGraphMemsetNodeGetParams 10000 cuGraphMemsetNodeGetParams,
        cuGraphMemsetNodeSetParams 10000 cuGraphMemsetNodeSetParams;
    host:
        cuLaunchHostFunc 10000 cuLaunchHostFunc,
        cuStreamAddCallback 5000 cuStreamAddCallback;
    jit:
        cuModuleLoadDataEx 2010 cuModuleLoadDataEx;
    launch:
        cuLaunchCooperativeKernel 9000 cuLaunchCooperativeKernel,
        cuLaunchKernel 4000 cuLaunchKernel,
        cuLaunchKernelEx 11060 cuLaunchKernelEx;
    library:
        cuKernelGetAttribute 12000 cuKernelGetAttribute,
        cuKernelGetFunction 12000 cuKernelGetFunction,
        cuKernelGetLibrary 12050 cuKernelGetLibrary,
        cuKernelGetName 12030 cuKernelGetName,
        cuKernelGetParamInfo 12040 cuKernelGetParamInfo,
        cuKernelSetAttribute 12000 cuKernelSetAttribute,
        cuKernelSetCacheConfig 12000 cuKernelSetCacheConfig,
        cuLibraryGetGlobal 12000 cuLibraryGetGlobal,
        cuLibraryGetKernel 12000 cuLibraryGetKernel,
        cuLibraryGetKernelCount 12040 cuLibraryGetKernelCount,
        cuLibraryGetModule 12000 cuLibraryGetModule,
        cuLibraryLoadData 12000 cuLibraryLoadData,
        cuLibraryLoadFromFile 12000 cuLibraryLoadFromFile,
        cuLibraryUnload 12000 cuLibraryUnload;
    limits:
        cuCtxGetLimit 3010 cuCtxGetLimit,
        cuCtxSetLimit 3010 cuCtxSetLimit;
    managed:
        cuMemAdvise 12020 cuMemAdvise_v2,
        cuMemAllocManaged 6000 cuMemAllocManaged,
        cuMemPrefetchAsync 12020 cuMemPrefetchAsync_v2,
        cuStreamAttachMemAsync 6000 cuStreamAttachMemAsync;
    memory:
        cuMemAlloc 3020 cuMemAlloc_v2,
        cuMemAllocPitch 3020 cuMemAllocPitch_v2,
        cuMemFree 3020 cuMemFree_v2,
        cuMemGetAddressRange 3020 cuMemGetAddressRange_v2,
        cuMemGetInfo 3020 cuMemGetInfo_v2;
    module:
        cuModuleEnumerateFunctions 12040 cuModuleEnumerateFunctions,
        cuModuleGetFunction 2000 cuModuleGetFunction,
        cuModuleGetFunctionCount 12040 cuModuleGetFunctionCount,
        cuModuleGetGlobal 3020 cuModuleGetGlobal_v2,
        cuModuleLoad 2000 cuModuleLoad,
        cuModuleLoadData 2000 cuModuleLoadData,
        cuModuleLoadFatBinary 2000 cuModuleLoadFatBinary,
        cuModuleUnload 2000 cuModuleUnload;
    occupancy:
        cuOccupancyAvailableDynamicSMemPerBlock 10020 cuOccupancyAvailableDynamicSMemPerBlock,
        cuOccupancyMaxActiveBlocksPerMultiprocessor 6050 cuOccupancyMaxActiveBlocksPerMultiprocessor,
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags 7000 cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
        cuOccupancyMaxPotentialBlockSize 6050 cuOccupancyMaxPotentialBlockSize,
        cuOccupancyMaxPotentialBlockSizeWithFlags 7000 cuOccupancyMaxPotentialBlockSizeWithFlags;
    peer:
        cuCtxDisablePeerAccess 4000 cuCtxDisablePeerAccess,
        cuCtxEnablePeerAccess 4000 cuCtxEnablePeerAccess,
        cuDeviceCanAccessPeer 4000 cuDeviceCanAccessPeer,
        cuDeviceGetP2PAttribute 8000 cuDeviceGetP2PAttribute;
    pinned:
        cuMemAllocHost 3020 cuMemAllocHost_v2,
        cuMemFreeHost 2000 cuMemFreeHost,
        cuMemHostAlloc 2020 cuMemHostAlloc,
        cuMemHostGetDevicePointer 3020 cuMemHostGetDevicePointer_v2,
        cuMemHostGetFlags 2030 cuMemHostGetFlags,
        cuMemHostRegister 6050 cuMemHostRegister_v2,
        cuMemHostUnregister 4000 cuMemHostUnregister;
    pointer:
        cuPointerGetAttribute 4000 cuPointerGetAttribute,
        cuPointerGetAttributes 7000 cuPointerGetAttributes,
        cuPointerSetAttribute 6000 cuPointerSetAttribute;
    pool:
        cuDeviceGetDefaultMemPool 11020 cuDeviceGetDefaultMemPool,
        cuDeviceGetMemPool 11020 cuDeviceGetMemPool,
        cuDeviceSetMemPool 11020 cuDeviceSetMemPool,
        cuMemPoolCreate 11020 cuMemPoolCreate,
        cuMemPoolDestroy 11020 cuMemPoolDestroy,
        cuMemPoolGetAccess 11020 cuMemPoolGetAccess,
        cuMemPoolGetAttribute 11020 cuMemPoolGetAttribute,
        cuMemPoolSetAccess 11020 cuMemPoolSetAccess,
        cuMemPoolSetAttribute 11020 cuMemPoolSetAttribute,
        cuMemPoolTrimTo 11020 cuMemPoolTrimTo;
    primary:
        cuDevicePrimaryCtxGetState 7000 cuDevicePrimaryCtxGetState,
        cuDevicePrimaryCtxRelease 11000 cuDevicePrimaryCtxRelease_v2,
        cuDevicePrimaryCtxReset 11000 cuDevicePrimaryCtxReset_v2,
        cuDevicePrimaryCtxRetain 7000 cuDevicePrimaryCtxRetain,
        cuDevicePrimaryCtxSetFlags 11000 cuDevicePrimaryCtxSetFlags_v2;
    proc_address:
        cuGetProcAddress 11030 cuGetProcAddress,
        cuGetProcAddress 12000 cuGetProcAddress_v2;
    set:
        cuMemsetD16 3020 cuMemsetD16_v2,
        cuMemsetD16Async 3020 cuMemsetD16Async,
        cuMemsetD2D16 3020 cuMemsetD2D16_v2,
        cuMemsetD2D16Async 3020 cuMemsetD2D16Async,
        cuMemsetD2D32 3020 cuMemsetD2D32_v2,
        cuMemsetD2D32Async 3020 cuMemsetD2D32Async,
        cuMemsetD2D8 3020 cuMemsetD2D8_v2,
        cuMemsetD2D8Async 3020 cuMemsetD2D8Async,
        cuMemsetD32 3020 cuMemsetD32_v2,
        cuMemsetD32Async 3020 cuMemsetD32Async,
        cuMemsetD8 3020 cuMemsetD8_v2,
        cuMemsetD8Async 3020 cuMemsetD8Async;
    stream:
        cuStreamCreate 2000 cuStreamCreate,
        cuStreamCreateWithPriority 5050 cuStreamCreateWithPriority,
        cuStreamDestroy 4000 cuStreamDestroy_v2,
        cuStreamGetCtx 9020 cuStreamGetCtx,
        cuStreamGetDevice 12080 cuStreamGetDevice,
        cuStreamGetFlags 5050 cuStreamGetFlags,
        cuStreamGetId 12000 cuStreamGetId,
        cuStreamGetPriority 5050 cuStreamGetPriority,
        cuStreamQuery 2000 cuStreamQuery,
        cuStreamSynchronize 2000 cuStreamSynchronize,
        cuStreamWaitEvent 3020 cuStreamWaitEvent;
    stream_memory:
        cuMemAllocAsync 11020 cuMemAllocAsync,
        cuMemAllocFromPoolAsync 11020 cuMemAllocFromPoolAsync,
        cuMemFreeAsync 11020 cuMemFreeAsync;
    unsupported:
        cuArray3DCreate 3020 cuArray3DCreate_v2,
        cuArrayCreate 3020 cuArrayCreate_v2,
        cuArrayDestroy 2000 cuArrayDestroy,
        cuDestroyExternalMemory 10000 cuDestroyExternalMemory,
        cuDestroyExternalSemaphore 10000 cuDestroyExternalSemaphore,
        cuExternalMemoryGetMappedBuffer 10000 cuExternalMemoryGetMappedBuffer,
        cuGraphAddEventRecordNode 11010 cuGraphAddEventRecordNode,
        cuGraphAddEventWaitNode 11010 cuGraphAddEventWaitNode,
        cuImportExternalMemory 10000 cuImportExternalMemory,
        cuImportExternalSemaphore 10000 cuImportExternalSemaphore,
        cuIpcCloseMemHandle 4010 cuIpcCloseMemHandle,
        cuIpcGetEventHandle 4010 cuIpcGetEventHandle,
        cuIpcGetMemHandle 4010 cuIpcGetMemHandle,
        cuIpcOpenEventHandle 4010 cuIpcOpenEventHandle,
        cuIpcOpenMemHandle 11000 cuIpcOpenMemHandle_v2,
        cuLinkAddData 6050 cuLinkAddData_v2,
        cuLinkAddFile 6050 cuLinkAddFile_v2,
        cuLinkComplete 5050 cuLinkComplete,
        cuLinkCreate 6050 cuLinkCreate_v2,
        cuLinkDestroy 5050 cuLinkDestroy,
        cuMemAddressFree 10020 cuMemAddressFree,
        cuMemAddressReserve 10020 cuMemAddressReserve,
        cuMemCreate 10020 cuMemCreate,
        cuMemMap 10020 cuMemMap,
        cuMemRelease 10020 cuMemRelease,
        cuMemSetAccess 10020 cuMemSetAccess,
        cuMemUnmap 10020 cuMemUnmap,
        cuOccupancyMaxActiveClusters 11070 cuOccupancyMaxActiveClusters,
        cuOccupancyMaxPotentialClusterSize 11070 cuOccupancyMaxPotentialClusterSize,
        cuStreamBatchMemOp 11070 cuStreamBatchMemOp_v2,
        cuStreamWaitValue32 11070 cuStreamWaitValue32_v2,
        cuStreamWaitValue64 11070 cuStreamWaitValue64_v2,
        cuTexObjectCreate 5000 cuTexObjectCreate,
        cuTexObjectDestroy 5000 cuTexObjectDestroy;
    version:
        cuDriverGetVersion 2020 cuDriverGetVersion,
        cuGetErrorName 6000 cuGetErrorName,
        cuGetErrorString 6000 cuGetErrorString,
        cuGetExportTable 3000 cuGetExportTable,
        cuInit 2000 cuInit,
        cuProfilerStart 4000 cuProfilerStart,
        cuProfilerStop 4000 cuProfilerStop;
    write_value:
        cuStreamWriteValue32 11070 cuStreamWriteValue32_v2,
        cuStreamWriteValue64 11070 cuStreamWriteValue64_v2;
}

//! Device attributes, by number. Features of real cards that the simulator does not have (textures,
//! clusters, cooperative launches of more than one block, memory sharing between processes) are
//! reported as absent.

use crate::Code;
use crate::card::{Card, MAX_BLOCK, MAX_GRID, REGISTERS, SHARED_PER_BLOCK, WARP};
use crate::device::pci_bus;
use crate::error::{bail, call, put};
use crate::process::process;
use isobit_simgpu_nvidia::dispatch::MAX_THREADS;
use std::ffi::c_int;

struct Queried {
    card: &'static Card,
    device: usize,
}

const YES: fn(&Queried) -> c_int = |_| 1;
const NO: fn(&Queried) -> c_int = |_| 0;

isobit_simgpu_runtime_common::attributes! {
    Queried;
    MaxThreadsPerBlock = 1 => |_| MAX_THREADS as c_int;
    MaxBlockDimX = 2 => |_| MAX_BLOCK[0] as c_int;
    MaxBlockDimY = 3 => |_| MAX_BLOCK[1] as c_int;
    MaxBlockDimZ = 4 => |_| MAX_BLOCK[2] as c_int;
    MaxGridDimX = 5 => |_| MAX_GRID[0] as c_int;
    MaxGridDimY = 6 => |_| MAX_GRID[1] as c_int;
    MaxGridDimZ = 7 => |_| MAX_GRID[2] as c_int;
    MaxSharedMemoryPerBlock = 8 => |_| SHARED_PER_BLOCK as c_int;
    TotalConstantMemory = 9 => |_| 65536;
    WarpSize = 10 => |_| WARP as c_int;
    MaxPitch = 11 => |_| c_int::MAX;
    MaxRegistersPerBlock = 12 => |_| REGISTERS as c_int;
    ClockRate = 13 => |this| this.card.clock_khz;
    TextureAlignment = 14 => |_| 512;
    GpuOverlap = 15 => YES;
    MultiprocessorCount = 16 => |this| this.card.multiprocessors.count as c_int;
    KernelExecTimeout = 17 => NO;
    Integrated = 18 => NO;
    CanMapHostMemory = 19 => YES;
    ComputeMode = 20 => NO;
    MaximumTexture1dWidth = 21 => NO;
    MaximumTexture2dWidth = 22 => NO;
    MaximumTexture2dHeight = 23 => NO;
    MaximumTexture3dWidth = 24 => NO;
    MaximumTexture3dHeight = 25 => NO;
    MaximumTexture3dDepth = 26 => NO;
    MaximumTexture2dLayeredWidth = 27 => NO;
    MaximumTexture2dLayeredHeight = 28 => NO;
    MaximumTexture2dLayeredLayers = 29 => NO;
    SurfaceAlignment = 30 => |_| 512;
    ConcurrentKernels = 31 => YES;
    EccEnabled = 32 => YES;
    PciBusId = 33 => |this| pci_bus(this.device);
    PciDeviceId = 34 => NO;
    TccDriver = 35 => NO;
    MemoryClockRate = 36 => |this| this.card.memory_clock_khz;
    GlobalMemoryBusWidth = 37 => |this| this.card.memory_bus;
    L2CacheSize = 38 => |this| this.card.l2_bytes;
    MaxThreadsPerMultiprocessor = 39 => |this| this.card.multiprocessors.threads as c_int;
    AsyncEngineCount = 40 => |_| 3;
    UnifiedAddressing = 41 => YES;
    MaximumTexture1dLayeredWidth = 42 => NO;
    MaximumTexture1dLayeredLayers = 43 => NO;
    CanTex2dGather = 44 => NO;
    MaximumTexture2dGatherWidth = 45 => NO;
    MaximumTexture2dGatherHeight = 46 => NO;
    MaximumTexture3dWidthAlternate = 47 => NO;
    MaximumTexture3dHeightAlternate = 48 => NO;
    MaximumTexture3dDepthAlternate = 49 => NO;
    PciDomainId = 50 => NO;
    TexturePitchAlignment = 51 => |_| 32;
    MaximumTexturecubemapWidth = 52 => NO;
    MaximumTexturecubemapLayeredWidth = 53 => NO;
    MaximumTexturecubemapLayeredLayers = 54 => NO;
    MaximumSurface1dWidth = 55 => NO;
    MaximumSurface2dWidth = 56 => NO;
    MaximumSurface2dHeight = 57 => NO;
    MaximumSurface3dWidth = 58 => NO;
    MaximumSurface3dHeight = 59 => NO;
    MaximumSurface3dDepth = 60 => NO;
    MaximumSurface1dLayeredWidth = 61 => NO;
    MaximumSurface1dLayeredLayers = 62 => NO;
    MaximumSurface2dLayeredWidth = 63 => NO;
    MaximumSurface2dLayeredHeight = 64 => NO;
    MaximumSurface2dLayeredLayers = 65 => NO;
    MaximumSurfacecubemapWidth = 66 => NO;
    MaximumSurfacecubemapLayeredWidth = 67 => NO;
    MaximumSurfacecubemapLayeredLayers = 68 => NO;
    MaximumTexture1dLinearWidth = 69 => NO;
    MaximumTexture2dLinearWidth = 70 => NO;
    MaximumTexture2dLinearHeight = 71 => NO;
    MaximumTexture2dLinearPitch = 72 => NO;
    MaximumTexture2dMipmappedWidth = 73 => NO;
    MaximumTexture2dMipmappedHeight = 74 => NO;
    ComputeCapabilityMajor = 75 => |this| this.card.arch.compute_capability().0 as c_int;
    ComputeCapabilityMinor = 76 => |this| this.card.arch.compute_capability().1 as c_int;
    MaximumTexture1dMipmappedWidth = 77 => NO;
    StreamPrioritiesSupported = 78 => YES;
    GlobalL1CacheSupported = 79 => YES;
    LocalL1CacheSupported = 80 => YES;
    MaxSharedMemoryPerMultiprocessor = 81 => |this| this.card.multiprocessors.shared as c_int;
    MaxRegistersPerMultiprocessor = 82 => |_| REGISTERS as c_int;
    ManagedMemory = 83 => YES;
    MultiGpuBoard = 84 => NO;
    MultiGpuBoardGroupId = 85 => NO;
    HostNativeAtomicSupported = 86 => NO;
    SingleToDoublePrecisionPerfRatio = 87 => |this| this.card.single_to_double;
    PageableMemoryAccess = 88 => NO;
    ConcurrentManagedAccess = 89 => NO;
    ComputePreemptionSupported = 90 => YES;
    CanUseHostPointerForRegisteredMem = 91 => NO;
    CanUseStreamMemOpsV1 = 92 => NO;
    CanUse64BitStreamMemOpsV1 = 93 => NO;
    CanUseStreamWaitValueNorV1 = 94 => NO;
    CooperativeLaunch = 95 => NO;
    CooperativeMultiDeviceLaunch = 96 => NO;
    MaxSharedMemoryPerBlockOptin = 97 => |this| this.card.arch.shared_bytes() as c_int;
    CanFlushRemoteWrites = 98 => NO;
    HostRegisterSupported = 99 => YES;
    PageableMemoryAccessUsesHostPageTables = 100 => NO;
    DirectManagedMemAccessFromHost = 101 => NO;
    VirtualAddressManagementSupported = 102 => NO;
    HandleTypePosixFileDescriptorSupported = 103 => NO;
    HandleTypeWin32HandleSupported = 104 => NO;
    HandleTypeWin32KmtHandleSupported = 105 => NO;
    MaxBlocksPerMultiprocessor = 106 => |this| this.card.multiprocessors.blocks as c_int;
    GenericCompressionSupported = 107 => NO;
    MaxPersistingL2CacheSize = 108 => |this| this.card.persisting_l2;
    MaxAccessPolicyWindowSize = 109 => |this| this.card.access_window;
    GpuDirectRdmaWithCudaVmmSupported = 110 => NO;
    ReservedSharedMemoryPerBlock = 111 => |this| this.card.multiprocessors.reserved as c_int;
    SparseCudaArraySupported = 112 => NO;
    ReadOnlyHostRegisterSupported = 113 => NO;
    TimelineSemaphoreInteropSupported = 114 => NO;
    MemoryPoolsSupported = 115 => YES;
    GpuDirectRdmaSupported = 116 => NO;
    GpuDirectRdmaFlushWritesOptions = 117 => NO;
    GpuDirectRdmaWritesOrdering = 118 => NO;
    MempoolSupportedHandleTypes = 119 => NO;
    ClusterLaunch = 120 => NO;
    DeferredMappingCudaArraySupported = 121 => NO;
    CanUse64BitStreamMemOps = 122 => NO;
    CanUseStreamWaitValueNor = 123 => NO;
    DmaBufSupported = 124 => NO;
    IpcEventSupported = 125 => NO;
    MemSyncDomainCount = 126 => |_| 1;
    TensorMapAccessSupported = 127 => NO;
    HandleTypeFabricSupported = 128 => NO;
    UnifiedFunctionPointers = 129 => NO;
    NumaConfig = 130 => NO;
    NumaId = 131 => |_| -1;
    MulticastSupported = 132 => NO;
    MpsEnabled = 133 => NO;
    HostNumaId = 134 => |_| -1;
    D3d12CigSupported = 135 => NO;
    MemDecompressAlgorithmMask = 136 => NO;
    MemDecompressMaximumLength = 137 => NO;
    VulkanCigSupported = 138 => NO;
    GpuPciDeviceId = 139 => NO;
    GpuPciSubsystemId = 140 => NO;
    HostNumaVirtualMemoryManagementSupported = 141 => NO;
    HostNumaMemoryPoolsSupported = 142 => NO;
    HostNumaMultinodeIpcSupported = 143 => NO;
    HostMemoryPoolsSupported = 144 => NO;
    HostVirtualMemoryManagementSupported = 145 => NO;
    HostAllocDmaBufSupported = 146 => NO;
    OnlyPartialHostNativeAtomicSupported = 147 => NO;
}

/// Returns a device attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(to: *mut c_int, attribute: c_int, device: c_int) -> Code {
    call("cuDeviceGetAttribute", || {
        let process = process()?;
        let device = process.device(device)?;
        let Some(value) = value(attribute, &Queried { card: process.cards[device].card, device }) else {
            bail!(INVALID_VALUE, "unknown attribute {attribute}");
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, value, "the value") }
    })
}

//! Device attributes, by number. Features of real cards that the simulator does not offer
//! (cooperative launches, managed memory, memory pools, images) are reported as absent.

use crate::Code;
use crate::card::{Card, LOCAL_BYTES_PER_GROUP, MAX_THREADS};
use crate::device::pci_bus;
use crate::error::{bail, call, put};
use crate::process::process;
use std::ffi::c_int;

struct Queried {
    card: &'static Card,
    device: usize,
    memory: u64,
}

/// The number of 32-bit registers of a multiprocessor that its work groups share, as HIP reports
/// it.
pub(crate) const REGISTERS: c_int = 65536;

/// The largest number of blocks in a grid along x, y and z.
pub(crate) const MAX_GRID: [c_int; 3] = [c_int::MAX, 65536, 65536];

const YES: fn(&Queried) -> c_int = |_| 1;
const NO: fn(&Queried) -> c_int = |_| 0;

// `hipDeviceAttribute_t`, with the numbers of HIP 5 and 6.
isobit_simgpu_runtime_common::attributes! {
    Queried;
    EccEnabled = 0 => |this| c_int::from(this.card.ecc);
    AsyncEngineCount = 2 => |_| 2;
    CanMapHostMemory = 3 => YES;
    CanUseHostPointerForRegisteredMem = 4 => NO;
    ClockRate = 5 => |this| this.card.clock_khz;
    ComputeMode = 6 => NO;
    ComputePreemptionSupported = 7 => NO;
    ConcurrentKernels = 8 => YES;
    ConcurrentManagedAccess = 9 => NO;
    CooperativeLaunch = 10 => NO;
    CooperativeMultiDeviceLaunch = 11 => NO;
    DeviceOverlap = 12 => YES;
    DirectManagedMemAccessFromHost = 13 => NO;
    GlobalL1CacheSupported = 14 => YES;
    HostNativeAtomicSupported = 15 => YES;
    Integrated = 16 => NO;
    IsMultiGpuBoard = 17 => NO;
    KernelExecTimeout = 18 => NO;
    L2CacheSize = 19 => |this| this.card.l2_bytes;
    LocalL1CacheSupported = 20 => YES;
    ComputeCapabilityMajor = 23 => |this| this.card.major;
    ManagedMemory = 24 => NO;
    MaxBlocksPerMultiProcessor = 25 => |this| threads_per_multiprocessor(this.card) / MAX_THREADS as c_int;
    MaxBlockDimX = 26 => |_| MAX_THREADS as c_int;
    MaxBlockDimY = 27 => |_| MAX_THREADS as c_int;
    MaxBlockDimZ = 28 => |_| MAX_THREADS as c_int;
    MaxGridDimX = 29 => |_| MAX_GRID[0];
    MaxGridDimY = 30 => |_| MAX_GRID[1];
    MaxGridDimZ = 31 => |_| MAX_GRID[2];
    MaxThreadsPerBlock = 56 => |_| MAX_THREADS as c_int;
    MaxThreadsPerMultiProcessor = 57 => |this| threads_per_multiprocessor(this.card);
    MaxPitch = 58 => |_| c_int::MAX;
    MemoryBusWidth = 59 => |this| this.card.memory_bus;
    MemoryClockRate = 60 => |this| this.card.memory_clock_khz;
    ComputeCapabilityMinor = 61 => |this| this.card.minor;
    MultiprocessorCount = 63 => |this| this.card.units.count as c_int;
    PageableMemoryAccess = 65 => NO;
    PageableMemoryAccessUsesHostPageTables = 66 => NO;
    PciBusId = 67 => |this| pci_bus(this.device);
    PciDeviceId = 68 => NO;
    PciDomainID = 69 => NO;
    MaxRegistersPerBlock = 71 => |_| REGISTERS;
    MaxRegistersPerMultiprocessor = 72 => |_| REGISTERS;
    ReservedSharedMemPerBlock = 73 => NO;
    MaxSharedMemoryPerBlock = 74 => |_| LOCAL_BYTES_PER_GROUP as c_int;
    SharedMemPerBlockOptin = 75 => |_| LOCAL_BYTES_PER_GROUP as c_int;
    SharedMemPerMultiprocessor = 76 => |this| this.card.units.local_bytes as c_int;
    StreamPrioritiesSupported = 78 => YES;
    TotalConstantMemory = 83 => |this| this.memory.min(c_int::MAX as u64) as c_int;
    TotalGlobalMem = 84 => |this| this.memory.min(c_int::MAX as u64) as c_int;
    UnifiedAddressing = 85 => YES;
    WarpSize = 87 => |this| this.card.arch.wave_size() as c_int;
    MemoryPoolsSupported = 88 => NO;
    VirtualMemoryManagementSupported = 89 => NO;
    HostRegisterSupported = 90 => NO;
    ClockInstructionRate = 10000 => |this| this.card.wall_clock_khz;
    MaxSharedMemoryPerMultiprocessor = 10002 => |this| this.card.units.local_bytes as c_int;
    CooperativeMultiDeviceUnmatchedFunc = 10007 => NO;
    CooperativeMultiDeviceUnmatchedGridDim = 10008 => NO;
    CooperativeMultiDeviceUnmatchedBlockDim = 10009 => NO;
    CooperativeMultiDeviceUnmatchedSharedMem = 10010 => NO;
    IsLargeBar = 10011 => YES;
    AsicRevision = 10012 => NO;
    CanUseStreamWaitValue = 10013 => NO;
    ImageSupport = 10014 => NO;
    PhysicalMultiProcessorCount = 10015 => |this| this.card.compute_units;
    FineGrainSupport = 10016 => YES;
    WallClockRate = 10017 => |this| this.card.wall_clock_khz;
}

/// Returns the number of threads that a multiprocessor can hold at a time.
pub(crate) fn threads_per_multiprocessor(card: &Card) -> c_int {
    (card.units.simds * card.units.waves_per_simd * card.units.lanes) as c_int
}

/// Writes the value of an attribute of a card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetAttribute(to: *mut c_int, attribute: c_int, device: c_int) -> Code {
    call("hipDeviceGetAttribute", || {
        let process = process()?;
        let device = process.device(device)?;
        let this =
            Queried { card: process.cards[device].card, device, memory: process.machine.memory.usage().capacity };
        let Some(value) = value(attribute, &this) else {
            bail!(INVALID_VALUE, "simulated cards have no attribute {attribute}");
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, value, "the value") }
    })
}

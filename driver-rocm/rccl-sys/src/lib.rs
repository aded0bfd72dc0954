//! Bindings to AMD's RCCL for Isobit's ROCm driver: C types, constants, and a table of functions
//! that [`Rccl::get`] fills from the library of ROCm 5, 6 or 7 if it is installed. RCCL has the
//! interface of NVIDIA's NCCL under the same names. The declarations match those of `rccl/rccl.h`,
//! which `cargo xtask bindings --check` compares. NVIDIA's documentation describes each function:
//! <https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html>.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

use hip_sys::hipStream_t;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// The status of a call.
pub type ncclResult_t = c_uint;
/// The type of an element.
pub type ncclDataType_t = c_uint;
/// How elements are combined.
pub type ncclRedOp_t = c_uint;

hip_sys::handles! {
    /// A communicator: one rank's part in a group of devices.
    ncclComm_t = ncclComm;
}

/// What the ranks of a communicator find each other by.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ncclUniqueId {
    /// Its content belongs to the library.
    pub internal: [c_char; NCCL_UNIQUE_ID_BYTES],
}

/// The size of an [`ncclUniqueId`].
pub const NCCL_UNIQUE_ID_BYTES: usize = 128;

/// What a new communicator is like, as NCCL 2.18 to 2.25 have it. Later releases append fields and
/// read no more of the struct than its `size`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ncclConfig_v21700 {
    /// The size of the struct.
    pub size: usize,
    /// [`NCCL_CONFIG_MAGIC`].
    pub magic: c_uint,
    /// The version of NCCL's interface that the struct is of.
    pub version: c_uint,
    /// Whether calls wait until they are done.
    pub blocking: c_int,
    /// The blocks of a cluster.
    pub cgaClusterSize: c_int,
    /// The fewest blocks of a kernel.
    pub minCTAs: c_int,
    /// The most blocks of a kernel.
    pub maxCTAs: c_int,
    /// The name of the network.
    pub netName: *const c_char,
    /// Whether a part of a communicator shares the resources of the whole.
    pub splitShare: c_int,
}

/// What a new communicator is like.
pub type ncclConfig_t = ncclConfig_v21700;

const _: () = assert!(size_of::<ncclUniqueId>() == 128);
const _: () = assert!(size_of::<ncclConfig_t>() == 48);

/// What identifies a config that was initialised, in its field `magic`.
pub const NCCL_CONFIG_MAGIC: c_uint = 0xcafe_beef;
/// The value of a config's numbers that says nothing.
pub const NCCL_CONFIG_UNDEF_INT: c_int = c_int::MIN;
/// The color of a rank that is in no part of a communicator.
pub const NCCL_SPLIT_NOCOLOR: c_int = -1;

impl Default for ncclConfig_v21700 {
    /// Returns `NCCL_CONFIG_INITIALIZER` of NCCL 2.18.3, the oldest release with this struct.
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            magic: NCCL_CONFIG_MAGIC,
            version: 21803,
            blocking: NCCL_CONFIG_UNDEF_INT,
            cgaClusterSize: NCCL_CONFIG_UNDEF_INT,
            minCTAs: NCCL_CONFIG_UNDEF_INT,
            maxCTAs: NCCL_CONFIG_UNDEF_INT,
            netName: std::ptr::null(),
            splitShare: NCCL_CONFIG_UNDEF_INT,
        }
    }
}

hip_sys::constants! { ncclResult_t:
    ncclSuccess = 0, "Done.";
    ncclUnhandledCudaError = 1, "A call of the runtime failed.";
    ncclSystemError = 2, "A call of the system failed.";
    ncclInternalError = 3, "The library failed.";
    ncclInvalidArgument = 4, "An argument is null or out of range.";
    ncclInvalidUsage = 5, "The calls do not fit together, within a rank or between ranks.";
    ncclRemoteError = 6, "Another rank has ended or cannot be reached.";
    ncclInProgress = 7, "The communicator does not block, and the call is not done; this is not a failure.";
}

hip_sys::constants! { ncclDataType_t:
    ncclInt8 = 0, "i8.";
    ncclUint8 = 1, "u8.";
    ncclInt32 = 2, "i32.";
    ncclUint32 = 3, "u32.";
    ncclInt64 = 4, "i64.";
    ncclUint64 = 5, "u64.";
    ncclFloat16 = 6, "IEEE binary16.";
    ncclFloat32 = 7, "IEEE binary32.";
    ncclFloat64 = 8, "IEEE binary64.";
    ncclBfloat16 = 9, "bfloat16.";
    ncclFloat8e4m3 = 10, "f8e4m3; since ROCm 6.4, whose numbers are those of the device.";
    ncclFloat8e5m2 = 11, "f8e5m2; likewise.";
}

hip_sys::constants! { ncclRedOp_t:
    ncclSum = 0, "The sum.";
    ncclProd = 1, "The product.";
    ncclMax = 2, "The largest.";
    ncclMin = 3, "The smallest.";
    ncclAvg = 4, "The sum divided by the number of ranks.";
}

hip_sys::library! {
    /// RCCL.
    pub struct Rccl {
        name: "RCCL (librccl)",
        variable: "ISOBIT_RCCL_LIBRARY",
        sonames: ["librccl.so.1", "librccl.so"]
    }

    /// Returns the version of NCCL whose interface the library has: major * 10^4 + minor * 100 +
    /// patch.
    fn ncclGetVersion(version: *mut c_int) -> ncclResult_t;
    /// Makes an id, which one rank passes to the others.
    fn ncclGetUniqueId(uniqueId: *mut ncclUniqueId) -> ncclResult_t;
    /// Makes a rank's communicator on the current device. Waits for all ranks.
    fn ncclCommInitRank(
        comm: *mut ncclComm_t, nranks: c_int, commId: ncclUniqueId, rank: c_int,
    ) -> ncclResult_t;
    /// Makes the communicators of all ranks in this thread, one for each device.
    fn ncclCommInitAll(comm: *mut ncclComm_t, ndev: c_int, devlist: *const c_int) -> ncclResult_t;
    /// Destroys a communicator.
    fn ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t;
    /// Destroys a communicator and ends what it has in progress.
    fn ncclCommAbort(comm: ncclComm_t) -> ncclResult_t;
    /// Returns what has become of a communicator: success, in progress, or a failure.
    fn ncclCommGetAsyncError(comm: ncclComm_t, asyncError: *mut ncclResult_t) -> ncclResult_t;
    /// Returns the number of ranks.
    fn ncclCommCount(comm: ncclComm_t, count: *mut c_int) -> ncclResult_t;
    /// Returns the device of the rank.
    fn ncclCommCuDevice(comm: ncclComm_t, device: *mut c_int) -> ncclResult_t;
    /// Returns the rank.
    fn ncclCommUserRank(comm: ncclComm_t, rank: *mut c_int) -> ncclResult_t;
    /// Returns the text of a status, a static string.
    fn ncclGetErrorString(result: ncclResult_t) -> *const c_char;
    /// Combines the elements of all ranks, and gives every rank the result.
    fn ncclAllReduce(
        sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, op: ncclRedOp_t,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// Combines the elements of all ranks, and gives one rank the result.
    fn ncclReduce(
        sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, op: ncclRedOp_t,
        root: c_int, comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// Copies the elements of one rank to every rank.
    fn ncclBroadcast(
        sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, root: c_int,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// Combines the elements of all ranks, and gives each rank its part of the result.
    fn ncclReduceScatter(
        sendbuff: *const c_void, recvbuff: *mut c_void, recvcount: usize, datatype: ncclDataType_t,
        op: ncclRedOp_t, comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// Puts the elements of all ranks one behind the other, on every rank.
    fn ncclAllGather(
        sendbuff: *const c_void, recvbuff: *mut c_void, sendcount: usize, datatype: ncclDataType_t,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// Sends elements to a rank, which must receive them.
    fn ncclSend(
        sendbuff: *const c_void, count: usize, datatype: ncclDataType_t, peer: c_int, comm: ncclComm_t,
        stream: hipStream_t,
    ) -> ncclResult_t;
    /// Receives elements from a rank, which must send them.
    fn ncclRecv(
        recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, peer: c_int, comm: ncclComm_t,
        stream: hipStream_t,
    ) -> ncclResult_t;
    /// Begins a group of calls, which are made together at its end.
    fn ncclGroupStart() -> ncclResult_t;
    /// Ends a group of calls.
    fn ncclGroupEnd() -> ncclResult_t;
    optional {
        /// Like `ncclCommInitRank`, with a config; since NCCL 2.14.
        fn ncclCommInitRankConfig(
            comm: *mut ncclComm_t, nranks: c_int, commId: ncclUniqueId, rank: c_int, config: *mut ncclConfig_t,
        ) -> ncclResult_t;
        /// Waits until everything that a communicator was asked for is done; since NCCL 2.14.
        fn ncclCommFinalize(comm: ncclComm_t) -> ncclResult_t;
        /// Makes a communicator of the ranks of each color; since NCCL 2.18.
        fn ncclCommSplit(
            comm: ncclComm_t, color: c_int, key: c_int, newcomm: *mut ncclComm_t, config: *mut ncclConfig_t,
        ) -> ncclResult_t;
        /// Returns a text about the last failure of this thread; since NCCL 2.13.
        fn ncclGetLastError(comm: ncclComm_t) -> *const c_char;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::nccl::sys;
    use std::mem::offset_of;

    /// cudarc's bindings are generated from NVIDIA's header.
    #[test]
    fn the_numbers_are_those_of_nccl() {
        use sys::{ncclDataType_t as Type, ncclRedOp_t as Op, ncclResult_t as Status};
        for (ours, theirs) in [
            (ncclSuccess, Status::ncclSuccess),
            (ncclUnhandledCudaError, Status::ncclUnhandledCudaError),
            (ncclSystemError, Status::ncclSystemError),
            (ncclInternalError, Status::ncclInternalError),
            (ncclInvalidArgument, Status::ncclInvalidArgument),
            (ncclInvalidUsage, Status::ncclInvalidUsage),
            (ncclRemoteError, Status::ncclRemoteError),
            (ncclInProgress, Status::ncclInProgress),
        ] {
            assert_eq!(ours, theirs as c_uint, "{theirs:?}");
        }
        for (ours, theirs) in [
            (ncclInt8, Type::ncclInt8),
            (ncclUint8, Type::ncclUint8),
            (ncclInt32, Type::ncclInt32),
            (ncclUint32, Type::ncclUint32),
            (ncclInt64, Type::ncclInt64),
            (ncclUint64, Type::ncclUint64),
            (ncclFloat16, Type::ncclFloat16),
            (ncclFloat32, Type::ncclFloat32),
            (ncclFloat64, Type::ncclFloat64),
            (ncclBfloat16, Type::ncclBfloat16),
            (ncclFloat8e4m3, Type::ncclFloat8e4m3),
            (ncclFloat8e5m2, Type::ncclFloat8e5m2),
        ] {
            assert_eq!(ours, theirs as c_uint, "{theirs:?}");
        }
        for (ours, theirs) in [
            (ncclSum, Op::ncclSum),
            (ncclProd, Op::ncclProd),
            (ncclMax, Op::ncclMax),
            (ncclMin, Op::ncclMin),
            (ncclAvg, Op::ncclAvg),
        ] {
            assert_eq!(ours, theirs as c_uint, "{theirs:?}");
        }
    }

    #[test]
    fn the_layouts_are_the_beginnings_of_nccls() {
        assert_eq!(size_of::<ncclUniqueId>(), size_of::<sys::ncclUniqueId>());
        macro_rules! same {
            ($($field:ident),*) => {$(
                assert_eq!(offset_of!(ncclConfig_t, $field), offset_of!(sys::ncclConfig_t, $field));
            )*};
        }
        same!(size, magic, version, blocking, cgaClusterSize, minCTAs, maxCTAs, netName, splitShare);
    }
}

//! The names of the functions, which are the same in both vendors' libraries.

/// Declares the functions of a vendor's library. The argument is its
/// [`Vendor`](isobit_simgpu_library_common::Vendor).
#[macro_export]
macro_rules! collective_functions {
    ($vendor:expr) => {
        use ::std::ffi::{c_char, c_int, c_void};
        use $crate::api::{self, Asked, Config, Fact, Kind};
        use $crate::{Status, UniqueId};

        /// Writes the version of NCCL's interface: major * 10^4 + minor * 100 + patch.
        ///
        /// # Safety
        /// `version` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> Status {
            $crate::common::injected!($vendor, "ncclGetVersion");
            // SAFETY: the caller promises the same.
            unsafe { api::version(version) }
        }

        /// Makes an id for a communicator. The process that makes it has the communicator's hub.
        ///
        /// # Safety
        /// `id` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclGetUniqueId(id: *mut UniqueId) -> Status {
            $crate::common::injected!($vendor, "ncclGetUniqueId");
            // SAFETY: the caller promises the same.
            unsafe { api::unique_id($vendor, id) }
        }

        /// Makes a rank's communicator on the current device. Waits for all ranks.
        ///
        /// # Safety
        /// `comm` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclCommInitRank(
            comm: *mut *mut c_void,
            ranks: c_int,
            id: UniqueId,
            rank: c_int,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclCommInitRank");
            // SAFETY: the caller promises the same.
            unsafe { api::init_rank($vendor, comm, ranks, id, rank, ::std::ptr::null()) }
        }

        /// Like [`ncclCommInitRank`], with a config.
        ///
        /// # Safety
        /// `comm` is null or can be written; `config` is null or can be read.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclCommInitRankConfig(
            comm: *mut *mut c_void,
            ranks: c_int,
            id: UniqueId,
            rank: c_int,
            config: *const Config,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclCommInitRankConfig");
            // SAFETY: the caller promises the same.
            unsafe { api::init_rank($vendor, comm, ranks, id, rank, config) }
        }

        /// Makes the communicators of all ranks, one for each device.
        ///
        /// # Safety
        /// `comms` is null or has room for so many; `devices` is null or has so many numbers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclCommInitAll(
            comms: *mut *mut c_void,
            count: c_int,
            devices: *const c_int,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclCommInitAll");
            // SAFETY: the caller promises the same.
            unsafe { api::init_all($vendor, comms, count, devices) }
        }

        /// Makes a communicator of the ranks of each color.
        ///
        /// # Safety
        /// `part` is null or can be written; `config` is null or can be read.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclCommSplit(
            comm: *mut c_void,
            color: c_int,
            key: c_int,
            part: *mut *mut c_void,
            config: *const Config,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclCommSplit");
            // SAFETY: the caller promises the same.
            unsafe { api::split($vendor, comm, color, key, part, config) }
        }

        /// Waits until everything that a communicator was asked for is done.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclCommFinalize(comm: *mut c_void) -> Status {
            $crate::common::injected!($vendor, "ncclCommFinalize");
            api::finalize(comm)
        }

        /// Destroys a communicator when everything that it was asked for is done.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclCommDestroy(comm: *mut c_void) -> Status {
            $crate::common::injected!($vendor, "ncclCommDestroy");
            api::destroy(comm)
        }

        /// Destroys a communicator and ends what it has in progress.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclCommAbort(comm: *mut c_void) -> Status {
            $crate::common::injected!($vendor, "ncclCommAbort");
            api::abort(comm)
        }

        /// Writes what has become of a communicator.
        ///
        /// # Safety
        /// `error` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclCommGetAsyncError(comm: *mut c_void, error: *mut Status) -> Status {
            $crate::common::injected!($vendor, "ncclCommGetAsyncError");
            // SAFETY: the caller promises the same.
            unsafe { api::asynchronous_error(comm, error) }
        }

        /// Writes the number of ranks.
        ///
        /// # Safety
        /// `count` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclCommCount(comm: *mut c_void, count: *mut c_int) -> Status {
            $crate::common::injected!($vendor, "ncclCommCount");
            // SAFETY: the caller promises the same.
            unsafe { api::fact(comm, Fact::Count, count) }
        }

        /// Writes the device of a communicator.
        ///
        /// # Safety
        /// `device` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclCommCuDevice(comm: *mut c_void, device: *mut c_int) -> Status {
            $crate::common::injected!($vendor, "ncclCommCuDevice");
            // SAFETY: the caller promises the same.
            unsafe { api::fact(comm, Fact::Device, device) }
        }

        /// Writes the rank of a communicator.
        ///
        /// # Safety
        /// `rank` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ncclCommUserRank(comm: *mut c_void, rank: *mut c_int) -> Status {
            $crate::common::injected!($vendor, "ncclCommUserRank");
            // SAFETY: the caller promises the same.
            unsafe { api::fact(comm, Fact::Rank, rank) }
        }

        /// Combines the elements of all ranks, and gives every rank the result.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclAllReduce(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            data_type: c_int,
            op: c_int,
            comm: *mut c_void,
            stream: *mut c_void,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclAllReduce");
            api::collective(Kind::AllReduce, Asked { send, receive, count, data_type, op, root: 0 }, comm, stream)
        }

        /// Combines the elements of all ranks, and gives one rank the result.
        #[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclReduce(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            data_type: c_int,
            op: c_int,
            root: c_int,
            comm: *mut c_void,
            stream: *mut c_void,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclReduce");
            api::collective(Kind::Reduce, Asked { send, receive, count, data_type, op, root }, comm, stream)
        }

        /// Copies the elements of one rank to every rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclBroadcast(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            data_type: c_int,
            root: c_int,
            comm: *mut c_void,
            stream: *mut c_void,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclBroadcast");
            api::collective(Kind::Broadcast, Asked { send, receive, count, data_type, op: 0, root }, comm, stream)
        }

        /// Combines the elements of all ranks, and gives each rank its part of the result.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclReduceScatter(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            data_type: c_int,
            op: c_int,
            comm: *mut c_void,
            stream: *mut c_void,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclReduceScatter");
            api::collective(Kind::ReduceScatter, Asked { send, receive, count, data_type, op, root: 0 }, comm, stream)
        }

        /// Puts the elements of all ranks one behind the other, on every rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclAllGather(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            data_type: c_int,
            comm: *mut c_void,
            stream: *mut c_void,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclAllGather");
            api::collective(Kind::AllGather, Asked { send, receive, count, data_type, op: 0, root: 0 }, comm, stream)
        }

        /// Sends elements to a rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclSend(
            from: *const c_void,
            count: usize,
            data_type: c_int,
            peer: c_int,
            comm: *mut c_void,
            stream: *mut c_void,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclSend");
            api::send(from, count, data_type, peer, comm, stream)
        }

        /// Receives elements from a rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclRecv(
            to: *mut c_void,
            count: usize,
            data_type: c_int,
            peer: c_int,
            comm: *mut c_void,
            stream: *mut c_void,
        ) -> Status {
            $crate::common::injected!($vendor, "ncclRecv");
            api::receive(to, count, data_type, peer, comm, stream)
        }

        /// Opens a group of calls.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclGroupStart() -> Status {
            $crate::common::injected!($vendor, "ncclGroupStart");
            api::group_start()
        }

        /// Closes a group of calls.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclGroupEnd() -> Status {
            $crate::common::injected!($vendor, "ncclGroupEnd");
            api::group_end()
        }

        /// Returns the text of a status.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclGetErrorString(status: Status) -> *const c_char {
            api::error_string(status)
        }

        /// Returns a text about the last failure of the thread, which is valid until the next one.
        #[unsafe(no_mangle)]
        pub extern "C" fn ncclGetLastError(_comm: *mut c_void) -> *const c_char {
            api::last_error()
        }
    };
}

//! The object-safe methods of the two traits, with each signature written once. These lists
//! generate the code that forwards to a device or storage chosen at run time: the object-safe
//! traits, their implementation for every driver, and the HAL's traits for
//! [`DynDevice`](crate::DynDevice) and for `AnyDevice` of the crate `isobit`.
//!
//! If a method were missing here, the code would still compile, but with the default body instead
//! of the driver's; a test compares the lists with the traits.

/// Invokes a macro with the device's methods: `calls`, the methods that return a storage (`makes`),
/// and those that return a kernel (`loads`). `[unsafe]` marks an unsafe method.
#[doc(hidden)]
#[macro_export]
macro_rules! __device_methods {
    ($forward:ident) => {
        $forward! {
            calls {
                fn id() -> $crate::DeviceId;
                fn location() -> $crate::DeviceLocation;
                fn info() -> $crate::Result<$crate::DeviceInfo>;
                fn default_numerics() -> $crate::Numerics;
                fn supports(op: &$crate::Op, dtypes: &[$crate::DType]) -> $crate::Support;
                fn preload(calls: &[($crate::Op, &[$crate::DType])]) -> $crate::Result<()>;
                fn supports_bf16() -> bool;
                fn random_state() -> Option<&$crate::RandomState>;
                fn set_seed(seed: u64) -> $crate::Result<()>;
                fn get_current_seed() -> $crate::Result<u64>;
                fn synchronize() -> $crate::Result<()>;
                fn default_stream() -> $crate::Result<$crate::Stream>;
                fn current_stream() -> $crate::Result<$crate::Stream>;
                fn new_stream() -> $crate::Result<$crate::Stream>;
                [unsafe] fn stream_from_raw(raw: u64) -> $crate::Result<$crate::Stream>;
                fn enter_stream(stream: &$crate::Stream) -> $crate::Result<$crate::StreamGuard>;
                fn new_event() -> $crate::Result<$crate::Event>;
                fn is_event_tracking() -> bool;
                fn enable_event_tracking() -> ();
                [unsafe] fn disable_event_tracking() -> ();
                fn alloc_pinned(bytes: usize) -> $crate::Result<$crate::PinnedBuffer>;
                fn pool_stats() -> $crate::PoolStats;
                fn set_memory_limit(bytes: u64) -> ();
                fn set_cache_limit(bytes: u64) -> ();
                fn trim(keep: u64) -> ();
                fn capture_step(step: $crate::graph::Step) -> $crate::Result<$crate::Graph>;
                fn counters() -> $crate::Counters;
            }
            makes {
                fn zeros(shape: &$crate::Shape, dtype: $crate::DType);
                [unsafe] fn alloc_uninit(shape: &$crate::Shape, dtype: $crate::DType);
                fn storage_from_cpu_storage(storage: &$crate::CpuStorage);
                fn storage_from_cpu_storage_owned(storage: $crate::CpuStorage);
                fn storage_from_bytes(dtype: $crate::DType, bytes: &[u8]);
                [unsafe] fn storage_from_raw(ptr: u64, len: usize, dtype: $crate::DType);
                fn rand_uniform(shape: &$crate::Shape, dtype: $crate::DType, lo: f64, up: f64);
                fn rand_normal(shape: &$crate::Shape, dtype: $crate::DType, mean: f64, std: f64);
                fn bernoulli(shape: &$crate::Shape, dtype: $crate::DType, p: f64);
            }
            loads {
                fn get_or_load_func(name: &str);
                fn get_or_load_custom_func(name: &str, module: &str, code: $crate::KernelCode<'_>);
                fn compile(name: &str, source: &$crate::KernelSource);
            }
        }
    };
}

/// Invokes a macro with the storage's methods that take `&self` (`reads`) and `&mut self`
/// (`writes`).
#[doc(hidden)]
#[macro_export]
macro_rules! __storage_methods {
    ($forward:ident) => {
        $forward! {
            reads {
                fn dtype() -> $crate::DType;
                fn len() -> usize;
                fn to_cpu_storage() -> $crate::Result<$crate::CpuStorage>;
                fn read_bytes(offset: usize, bytes: &mut [u8]) -> $crate::Result<()>;
                fn copy_to_pinned(
                    offset: usize,
                    dst: &mut $crate::PinnedBuffer,
                    range: ::std::ops::Range<usize>
                ) -> $crate::Result<()>;
                fn device_ptr() -> $crate::Result<u64>;
            }
            writes {
                fn write_bytes(offset: usize, bytes: &[u8]) -> $crate::Result<()>;
                fn copy_from_pinned(
                    offset: usize,
                    src: &$crate::PinnedBuffer,
                    range: ::std::ops::Range<usize>
                ) -> $crate::Result<()>;
            }
        }
    };
}

//! [`GpuRuntime`] over HIP. What each call does is in the file of its subject.

use crate::blas::Blas;
use crate::dnn::Dnn;
use crate::error::check;
use crate::event::RocmEvent;
use crate::library::HIP;
use crate::module::{RocmFunction, RocmModule};
use crate::rng::VendorRng;
use crate::stream::RocmStream;
use crate::{compile, info, memory};
use hip_sys::Hip;
use isobit_hal::{DeviceInfo, Result};
use isobit_kernels::{
    Code, Conv, Deferred, DevicePtr, Gemm, GpuRuntime, LaunchConfig, Limits, Random, RtcSource, Target, Vendor,
    no_such_device,
};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

/// A device and HIP's functions, kept as long as anything made on it.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) hip: &'static Hip,
    device: c_int,
    deferred: Deferred,
}

impl Context {
    fn new(ordinal: usize) -> Result<Arc<Self>> {
        let count = device_count()?;
        let device = c_int::try_from(ordinal).ok().filter(|_| ordinal < count);
        let device = device.ok_or_else(|| no_such_device("rocm", ordinal, count))?;
        Ok(Arc::new(Self { hip: HIP.require()?, device, deferred: Deferred::default() }))
    }

    /// Makes the device current for this thread.
    #[inline]
    pub(crate) fn bind(&self) -> Result<()> {
        // SAFETY: the device is one of those that were counted.
        check(unsafe { (self.hip.hipSetDevice)(self.device) }, "making the device current")
    }

    pub(crate) fn device(&self) -> c_int {
        self.device
    }

    /// Errors of calls that cannot return one (frees, destructors), for the next synchronising call.
    pub(crate) fn deferred(&self) -> &Deferred {
        &self.deferred
    }
}

pub(crate) fn device_count() -> Result<usize> {
    let hip = HIP.require()?;
    let mut count = 0;
    // SAFETY: an out-parameter; the first call initialises the runtime.
    check(unsafe { (hip.hipGetDeviceCount)(&mut count) }, "counting AMD GPUs")?;
    Ok(count as usize)
}

/// One AMD GPU through HIP.
#[derive(Debug)]
pub struct RocmRuntime {
    context: Arc<Context>,
    limits: Limits,
    arch: String,
    blas: OnceLock<Result<Blas, String>>,
    dnn: OnceLock<Result<Dnn, String>>,
    rng: OnceLock<Result<VendorRng, String>>,
}

impl RocmRuntime {
    /// The device's ordinal in HIP, for those who must.
    pub fn raw_device(&self) -> c_int {
        self.context.device()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// A vendor's library, opened the first time; or why it cannot be.
    fn library<'a, T>(
        &self,
        library: &'a OnceLock<Result<T, String>>,
        open: impl FnOnce(&Arc<Context>) -> Result<T>,
    ) -> Result<&'a T, Vendor> {
        self.context.bind().map_err(|e| Vendor::Declined(e.to_string()))?;
        let opened = library.get_or_init(|| open(&self.context).map_err(|e| e.to_string()));
        opened.as_ref().map_err(|why| Vendor::Declined(why.clone()))
    }
}

impl GpuRuntime for RocmRuntime {
    const DRIVER: &'static str = "rocm";
    const TARGET: Target = Target::Amdgcn;
    type Module = RocmModule;
    type Function = RocmFunction;
    type Stream = RocmStream;
    type Event = RocmEvent;

    fn open(ordinal: usize) -> Result<Self> {
        let context = Context::new(ordinal)?;
        context.bind()?;
        let limits = info::limits(&context)?;
        let arch = info::arch(&context)?;
        Ok(Self { context, limits, arch, blas: OnceLock::new(), dnn: OnceLock::new(), rng: OnceLock::new() })
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn arch(&self) -> &str {
        &self.arch
    }

    fn info(&self) -> Result<DeviceInfo> {
        let blas_version = self.blas.get().and_then(|b| b.as_ref().ok()).map(Blas::version);
        info::info(&self.context, &self.limits, &self.arch, blas_version)
    }

    fn memory(&self) -> Result<(u64, u64)> {
        memory::free_and_total(&self.context)
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        memory::alloc(&self.context, bytes)
    }

    unsafe fn free(&self, ptr: DevicePtr) {
        // SAFETY: passed on.
        self.context.deferred().keep(unsafe { memory::free(&self.context, ptr) });
    }

    unsafe fn copy_to_device(&self, stream: &RocmStream, dst: DevicePtr, src: &[u8]) -> Result<()> {
        // SAFETY: passed on.
        unsafe { memory::copy_to_device(&self.context, stream, dst, src) }
    }

    unsafe fn copy_to_host(&self, stream: &RocmStream, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        // SAFETY: passed on.
        unsafe { memory::copy_to_host(&self.context, stream, dst, src)? };
        self.synchronize(stream)
    }

    unsafe fn copy_on_device(&self, stream: &RocmStream, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { memory::copy_on_device(&self.context, stream, dst, src, bytes) }
    }

    unsafe fn set_bytes(&self, stream: &RocmStream, dst: DevicePtr, value: u8, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { memory::set_bytes(&self.context, stream, dst, value, bytes) }
    }

    fn new_stream(&self) -> Result<RocmStream> {
        RocmStream::new(&self.context)
    }

    fn synchronize(&self, stream: &RocmStream) -> Result<()> {
        stream.synchronize()?;
        self.context.deferred().take()
    }

    fn new_event(&self) -> Result<RocmEvent> {
        RocmEvent::new(&self.context)
    }

    fn record(&self, event: &RocmEvent, stream: &RocmStream) -> Result<()> {
        event.record(stream)
    }

    fn elapsed_ms(&self, from: &RocmEvent, to: &RocmEvent) -> Result<f32> {
        to.elapsed_since(from)
    }

    fn load_module(&self, code: Code<'_>) -> Result<RocmModule> {
        RocmModule::load(&self.context, code)
    }

    fn function(&self, module: &RocmModule, symbol: &str) -> Result<RocmFunction> {
        module.function(symbol)
    }

    fn compiler(&self) -> Result<String> {
        compile::compiler()
    }

    fn compile(&self, source: &RtcSource<'_>) -> Result<Vec<u8>> {
        compile::compile(&self.arch, source)
    }

    unsafe fn launch(
        &self,
        stream: &RocmStream,
        function: RocmFunction,
        config: &LaunchConfig,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        self.context.bind()?;
        // SAFETY: passed on.
        unsafe { function.launch(self.context.hip, &self.limits, stream, config, args) }
    }

    unsafe fn gemm(&self, stream: &RocmStream, problem: &Gemm) -> Result<Vendor> {
        match self.library(&self.blas, |context| Blas::new(context, stream)) {
            // SAFETY: passed on.
            Ok(blas) => unsafe { blas.gemm(problem) },
            Err(declined) => Ok(declined),
        }
    }

    unsafe fn conv(&self, stream: &RocmStream, problem: &Conv) -> Result<Vendor> {
        match self.library(&self.dnn, |context| Dnn::new(context, stream)) {
            // SAFETY: passed on.
            Ok(dnn) => unsafe { dnn.conv(stream, problem) },
            Err(declined) => Ok(declined),
        }
    }

    unsafe fn random(&self, stream: &RocmStream, problem: &Random) -> Result<Vendor> {
        match self.library(&self.rng, |context| VendorRng::new(context, stream)) {
            // SAFETY: passed on.
            Ok(rng) => unsafe { rng.random(problem) },
            Err(declined) => Ok(declined),
        }
    }
}

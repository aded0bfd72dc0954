//! [`GpuRuntime`] over the CUDA driver API. What each call does is in the file of its subject.

use crate::blas::Blas;
use crate::dnn::Dnn;
use crate::error::check;
use crate::event::CudaEvent;
use crate::library::DRIVER;
use crate::module::{CudaFunction, CudaModule};
use crate::rng::Rng;
use crate::stream::CudaStream;
use crate::{compile, info, memory};
use cudarc::driver::sys;
use isobit_hal::{DeviceInfo, Result};
use isobit_kernels::{
    Code, Conv, Deferred, DevicePtr, Gemm, GpuRuntime, LaunchConfig, Limits, Random, RtcSource, Target, Vendor,
    no_such_device,
};
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

/// The primary context of a device, kept as long as anything made in it.
#[derive(Debug)]
pub(crate) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    deferred: Deferred,
}

// SAFETY: a context may be used from any thread that makes it current, which every call does first.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for Context {}

impl Context {
    fn new(ordinal: usize) -> Result<Arc<Self>> {
        let count = device_count()?;
        if ordinal >= count {
            return Err(no_such_device("cuda", ordinal, count));
        }
        let (mut device, mut raw) = (0, std::ptr::null_mut());
        // SAFETY: plain out-parameters; the driver was initialised while counting.
        unsafe {
            check(sys::cuDeviceGet(&mut device, ordinal as i32), "opening the device")?;
            check(sys::cuDevicePrimaryCtxRetain(&mut raw, device), "making a context on the device")?;
        }
        Ok(Arc::new(Self { device, raw, deferred: Deferred::default() }))
    }

    /// Makes the context current for this thread.
    #[inline]
    pub(crate) fn bind(&self) -> Result<()> {
        // SAFETY: the context is retained as long as `self` lives.
        check(unsafe { sys::cuCtxSetCurrent(self.raw) }, "making the device current")
    }

    pub(crate) fn device(&self) -> sys::CUdevice {
        self.device
    }

    /// Errors of calls that cannot return one (frees, destructors), for the next synchronising call.
    pub(crate) fn deferred(&self) -> &Deferred {
        &self.deferred
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `new`; nothing made in the context is left, for all of it holds the context.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

pub(crate) fn device_count() -> Result<usize> {
    DRIVER.require()?;
    let mut count = 0;
    // SAFETY: initialising twice is allowed; `count` is an out-parameter.
    unsafe {
        check(sys::cuInit(0), "initialising the NVIDIA driver")?;
        check(sys::cuDeviceGetCount(&mut count), "counting NVIDIA GPUs")?;
    }
    Ok(count as usize)
}

/// One NVIDIA GPU through the CUDA driver API.
#[derive(Debug)]
pub struct CudaRuntime {
    context: Arc<Context>,
    limits: Limits,
    arch: String,
    blas: OnceLock<Result<Blas, String>>,
    dnn: OnceLock<Result<Dnn, String>>,
    rng: OnceLock<Result<Rng, String>>,
}

impl CudaRuntime {
    /// The device's primary context, for those who must.
    pub fn raw_context(&self) -> sys::CUcontext {
        self.context.raw
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

impl GpuRuntime for CudaRuntime {
    const DRIVER: &'static str = "cuda";
    const TARGET: Target = Target::Nvptx;
    type Module = CudaModule;
    type Function = CudaFunction;
    type Stream = CudaStream;
    type Event = CudaEvent;

    fn open(ordinal: usize) -> Result<Self> {
        let context = Context::new(ordinal)?;
        context.bind()?;
        let limits = info::limits(context.device())?;
        let arch = info::arch(context.device())?;
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

    unsafe fn copy_to_device(&self, stream: &CudaStream, dst: DevicePtr, src: &[u8]) -> Result<()> {
        // SAFETY: passed on.
        unsafe { memory::copy_to_device(&self.context, stream, dst, src) }
    }

    unsafe fn copy_to_host(&self, stream: &CudaStream, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        // SAFETY: passed on.
        unsafe { memory::copy_to_host(&self.context, stream, dst, src)? };
        self.synchronize(stream)
    }

    unsafe fn copy_on_device(&self, stream: &CudaStream, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { memory::copy_on_device(&self.context, stream, dst, src, bytes) }
    }

    unsafe fn set_bytes(&self, stream: &CudaStream, dst: DevicePtr, value: u8, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { memory::set_bytes(&self.context, stream, dst, value, bytes) }
    }

    fn new_stream(&self) -> Result<CudaStream> {
        CudaStream::new(&self.context)
    }

    fn synchronize(&self, stream: &CudaStream) -> Result<()> {
        stream.synchronize()?;
        self.context.deferred().take()
    }

    fn new_event(&self) -> Result<CudaEvent> {
        CudaEvent::new(&self.context)
    }

    fn record(&self, event: &CudaEvent, stream: &CudaStream) -> Result<()> {
        event.record(stream)
    }

    fn elapsed_ms(&self, from: &CudaEvent, to: &CudaEvent) -> Result<f32> {
        to.elapsed_since(from)
    }

    fn load_module(&self, code: Code<'_>) -> Result<CudaModule> {
        CudaModule::load(&self.context, code)
    }

    fn function(&self, module: &CudaModule, symbol: &str) -> Result<CudaFunction> {
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
        stream: &CudaStream,
        function: CudaFunction,
        config: &LaunchConfig,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        self.context.bind()?;
        // SAFETY: passed on.
        unsafe { function.launch(stream, config, args) }
    }

    unsafe fn gemm(&self, stream: &CudaStream, problem: &Gemm) -> Result<Vendor> {
        match self.library(&self.blas, |context| Blas::new(context, stream)) {
            // SAFETY: passed on.
            Ok(blas) => unsafe { blas.gemm(problem) },
            Err(declined) => Ok(declined),
        }
    }

    unsafe fn conv(&self, stream: &CudaStream, problem: &Conv) -> Result<Vendor> {
        match self.library(&self.dnn, |context| Dnn::new(context, stream)) {
            // SAFETY: passed on.
            Ok(dnn) => unsafe { dnn.conv(stream, problem) },
            Err(declined) => Ok(declined),
        }
    }

    unsafe fn random(&self, stream: &CudaStream, problem: &Random) -> Result<Vendor> {
        match self.library(&self.rng, |context| Rng::new(context, stream)) {
            // SAFETY: passed on.
            Ok(rng) => unsafe { rng.random(problem) },
            Err(declined) => Ok(declined),
        }
    }
}

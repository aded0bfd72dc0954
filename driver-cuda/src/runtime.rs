//! [`GpuRuntime`] over the CUDA driver API. What each call does is in the file of its subject.

use crate::blas::Blas;
use crate::context::Context;
use crate::dnn::Dnn;
use crate::event::CudaEvent;
use crate::module::{CudaFunction, CudaModule};
use crate::rng::Rng;
use crate::stream::CudaStream;
use crate::{compile, graph, info, memory, peer, pinned};
use cudarc::driver::sys;
use isobit_hal::{DeviceInfo, Result};
use isobit_kernels::{
    Code, Conv, DevicePtr, Gemm, GpuRuntime, LaunchConfig, Limits, PerStream, Random, RangeLibrary, RawGraph,
    RawGraphExec, RtcSource, Scratch, Target, Vendor,
};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// One NVIDIA GPU through the CUDA driver API.
#[derive(Debug)]
pub struct CudaRuntime {
    context: Arc<Context>,
    limits: Limits,
    arch: String,
    blas: PerStream<Blas, CudaEvent>,
    dnn: PerStream<Dnn, CudaEvent>,
    rng: PerStream<Rng, CudaEvent>,
}

impl CudaRuntime {
    /// The device's primary context, for those who must.
    pub fn raw_context(&self) -> sys::CUcontext {
        self.context.raw()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl GpuRuntime for CudaRuntime {
    const DRIVER: &'static str = "cuda";
    const TARGET: Target = Target::Nvptx;
    const RANGES: Option<RangeLibrary> = Some(RangeLibrary {
        name: "NVTX",
        // CUDA 12.9 dropped the first for the second, which the PyPI package nvidia-nvtx has too.
        sonames: &["libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so"],
        push: "nvtxRangePushA",
        pop: "nvtxRangePop",
    });
    type Module = CudaModule;
    type Function = CudaFunction;
    type Stream = CudaStream;
    type Event = CudaEvent;

    fn open(ordinal: usize) -> Result<Self> {
        let context = Context::new(ordinal)?;
        context.bind()?;
        let limits = info::limits(context.device())?;
        let arch = info::arch(context.device())?;
        Ok(Self {
            context,
            limits,
            arch,
            blas: PerStream::default(),
            dnn: PerStream::default(),
            rng: PerStream::default(),
        })
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn arch(&self) -> &str {
        &self.arch
    }

    fn info(&self) -> Result<DeviceInfo> {
        let mut info = info::describe(self.context.device())?;
        (info.memory_free, info.memory_total) = self.memory()?;
        Ok(info)
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
        CudaEvent::timed(&self.context)
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

    fn allow_dynamic_shared(&self, function: CudaFunction, bytes: u32) -> Result<()> {
        self.context.bind()?;
        function.allow_dynamic_shared(self.context.device(), bytes)
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

    unsafe fn gemm(&self, stream: &CudaStream, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        // SAFETY: passed on.
        self.blas.call(self, stream, |blas| unsafe { blas.gemm(problem, scratch) })
    }

    unsafe fn conv(&self, stream: &CudaStream, problem: &Conv, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        // SAFETY: passed on.
        self.dnn.call(self, stream, |dnn| unsafe { dnn.conv(problem, scratch) })
    }

    unsafe fn random(&self, stream: &CudaStream, problem: &Random) -> Result<Vendor> {
        // SAFETY: passed on.
        self.rng.call(self, stream, |rng| unsafe { rng.random(problem) })
    }

    unsafe fn stream_from_raw(&self, raw: u64) -> Result<CudaStream> {
        // SAFETY: passed on.
        Ok(unsafe { CudaStream::foreign(&self.context, raw as sys::CUstream) })
    }

    fn raw_stream(&self, stream: &CudaStream) -> u64 {
        stream.raw() as u64
    }

    fn stream_is_idle(&self, stream: &CudaStream) -> Result<bool> {
        stream.is_idle()
    }

    fn close_stream(&self, stream: &CudaStream) {
        self.blas.close(self, stream);
        self.dnn.close(self, stream);
        self.rng.close(self, stream);
    }

    fn new_ordering_event(&self) -> Result<CudaEvent> {
        CudaEvent::ordering(&self.context)
    }

    fn wait_event(&self, stream: &CudaStream, event: &CudaEvent) -> Result<()> {
        stream.wait_event(event)
    }

    fn event_is_done(&self, event: &CudaEvent) -> Result<bool> {
        event.is_done()
    }

    fn synchronize_event(&self, event: &CudaEvent) -> Result<()> {
        event.synchronize()
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>> {
        pinned::alloc(&self.context, bytes)
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>) {
        // SAFETY: passed on.
        self.context.deferred().keep(unsafe { pinned::free(&self.context, ptr) });
    }

    unsafe fn copy_from_pinned(
        &self,
        stream: &CudaStream,
        dst: DevicePtr,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { pinned::copy_from(&self.context, stream, dst, src, bytes) }
    }

    unsafe fn copy_to_pinned(&self, stream: &CudaStream, dst: NonNull<u8>, src: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { pinned::copy_to(&self.context, stream, dst, src, bytes) }
    }

    fn can_access_peer(&self, other: &Self) -> bool {
        peer::can_access(&self.context, &other.context)
    }

    unsafe fn copy_from_peer(
        &self,
        stream: &CudaStream,
        dst: DevicePtr,
        from: &Self,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { peer::copy(&self.context, stream, dst, &from.context, src, bytes) }
    }

    fn begin_capture(&self, stream: &CudaStream) -> Result<()> {
        graph::begin(&self.context, stream)
    }

    fn is_capturing(&self, stream: &CudaStream) -> Result<bool> {
        graph::is_capturing(&self.context, stream)
    }

    fn end_capture(&self, stream: &CudaStream) -> Result<RawGraph> {
        graph::end(&self.context, stream)
    }

    unsafe fn graph_nodes(&self, graph: RawGraph) -> Result<usize> {
        // SAFETY: passed on.
        unsafe { graph::nodes(graph) }
    }

    unsafe fn instantiate(&self, graph: RawGraph) -> Result<RawGraphExec> {
        // SAFETY: passed on.
        unsafe { graph::instantiate(&self.context, graph) }
    }

    unsafe fn update_graph(&self, exec: RawGraphExec, graph: RawGraph) -> Result<bool> {
        // SAFETY: passed on.
        unsafe { graph::update(&self.context, exec, graph) }
    }

    unsafe fn launch_graph(&self, stream: &CudaStream, exec: RawGraphExec) -> Result<()> {
        // SAFETY: passed on.
        unsafe { graph::launch(&self.context, stream, exec) }
    }

    unsafe fn destroy_graph(&self, graph: RawGraph) {
        // SAFETY: passed on.
        self.context.deferred().keep(unsafe { graph::destroy(&self.context, graph) });
    }

    unsafe fn destroy_graph_exec(&self, exec: RawGraphExec) {
        // SAFETY: passed on.
        self.context.deferred().keep(unsafe { graph::destroy_exec(&self.context, exec) });
    }
}

//! [`GpuRuntime`] over HIP. What each call does is in the file of its subject.

use crate::blas::Blas;
use crate::context::Context;
use crate::dnn::Dnn;
use crate::event::RocmEvent;
use crate::module::{RocmFunction, RocmModule};
use crate::rng::VendorRng;
use crate::stream::RocmStream;
use crate::{compile, graph, info, memory, peer, pinned};
use hip_sys::hipStream_t;
use isobit_hal::{DeviceInfo, Error, ErrorKind, Result};
use isobit_kernels::{
    Code, Conv, DevicePtr, Gemm, GpuRuntime, LaunchConfig, Limits, PerStream, Random, RangeLibrary, RawGraph,
    RawGraphExec, RtcSource, Scratch, Target, Vendor,
};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// One AMD GPU through HIP.
#[derive(Debug)]
pub struct RocmRuntime {
    context: Arc<Context>,
    limits: Limits,
    arch: String,
    blas: PerStream<Blas, RocmEvent>,
    dnn: PerStream<Dnn, RocmEvent>,
    rng: PerStream<VendorRng, RocmEvent>,
}

impl RocmRuntime {
    /// The device's ordinal in HIP, for those who must.
    pub fn raw_device(&self) -> c_int {
        self.context.device()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl GpuRuntime for RocmRuntime {
    const DRIVER: &'static str = "rocm";
    const TARGET: Target = Target::Amdgcn;
    const RANGES: Option<RangeLibrary> = Some(RangeLibrary {
        name: "ROCTX",
        // The first is read by rocprofv3, the others by the profilers before it.
        sonames: &["librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so", "libroctx64.so.4", "libroctx64.so"],
        push: "roctxRangePushA",
        pop: "roctxRangePop",
    });
    type Module = RocmModule;
    type Function = RocmFunction;
    type Stream = RocmStream;
    type Event = RocmEvent;

    fn open(ordinal: usize) -> Result<Self> {
        let context = Context::new(ordinal)?;
        context.bind()?;
        let limits = info::limits(context.hip, context.device())?;
        let arch = info::arch(context.hip, context.device())?;
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
        let mut info = info::describe(self.context.hip, self.context.device())?;
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
        RocmEvent::timed(&self.context)
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

    fn allow_dynamic_shared(&self, _function: RocmFunction, bytes: u32) -> Result<()> {
        // HIP has nothing to ask for: a block may have all that the device offers.
        let most = self.limits.shared_memory_per_block;
        if bytes <= most {
            return Ok(());
        }
        let message = format!("{bytes} bytes of dynamic shared memory a block; the device has {most}");
        Err(Error::new(ErrorKind::InvalidArgument, message))
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

    unsafe fn gemm(&self, stream: &RocmStream, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        // SAFETY: passed on.
        self.blas.call(self, stream, |blas| unsafe { blas.gemm(problem, scratch) })
    }

    unsafe fn conv(&self, stream: &RocmStream, problem: &Conv, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        // SAFETY: passed on.
        self.dnn.call(self, stream, |dnn| unsafe { dnn.conv(problem, scratch) })
    }

    unsafe fn random(&self, stream: &RocmStream, problem: &Random) -> Result<Vendor> {
        // SAFETY: passed on.
        self.rng.call(self, stream, |rng| unsafe { rng.random(problem) })
    }

    unsafe fn stream_from_raw(&self, raw: u64) -> Result<RocmStream> {
        // SAFETY: passed on.
        Ok(unsafe { RocmStream::foreign(&self.context, raw as hipStream_t) })
    }

    fn raw_stream(&self, stream: &RocmStream) -> u64 {
        stream.raw() as u64
    }

    fn stream_is_idle(&self, stream: &RocmStream) -> Result<bool> {
        stream.is_idle()
    }

    fn close_stream(&self, stream: &RocmStream) {
        self.blas.close(self, stream);
        self.dnn.close(self, stream);
        self.rng.close(self, stream);
    }

    fn new_ordering_event(&self) -> Result<RocmEvent> {
        RocmEvent::ordering(&self.context)
    }

    fn wait_event(&self, stream: &RocmStream, event: &RocmEvent) -> Result<()> {
        stream.wait_event(event)
    }

    fn event_is_done(&self, event: &RocmEvent) -> Result<bool> {
        event.is_done()
    }

    fn synchronize_event(&self, event: &RocmEvent) -> Result<()> {
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
        stream: &RocmStream,
        dst: DevicePtr,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { pinned::copy_from(&self.context, stream, dst, src, bytes) }
    }

    unsafe fn copy_to_pinned(&self, stream: &RocmStream, dst: NonNull<u8>, src: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { pinned::copy_to(&self.context, stream, dst, src, bytes) }
    }

    fn can_access_peer(&self, other: &Self) -> bool {
        peer::can_access(&self.context, &other.context)
    }

    unsafe fn copy_from_peer(
        &self,
        stream: &RocmStream,
        dst: DevicePtr,
        from: &Self,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { peer::copy(&self.context, stream, dst, &from.context, src, bytes) }
    }

    fn begin_capture(&self, stream: &RocmStream) -> Result<()> {
        graph::begin(&self.context, stream)
    }

    fn is_capturing(&self, stream: &RocmStream) -> Result<bool> {
        graph::is_capturing(&self.context, stream)
    }

    fn end_capture(&self, stream: &RocmStream) -> Result<RawGraph> {
        graph::end(&self.context, stream)
    }

    unsafe fn graph_nodes(&self, graph: RawGraph) -> Result<usize> {
        // SAFETY: passed on.
        unsafe { graph::nodes(&self.context, graph) }
    }

    unsafe fn instantiate(&self, graph: RawGraph) -> Result<RawGraphExec> {
        // SAFETY: passed on.
        unsafe { graph::instantiate(&self.context, graph) }
    }

    unsafe fn update_graph(&self, exec: RawGraphExec, graph: RawGraph) -> Result<bool> {
        // SAFETY: passed on.
        unsafe { graph::update(&self.context, exec, graph) }
    }

    unsafe fn launch_graph(&self, stream: &RocmStream, exec: RawGraphExec) -> Result<()> {
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

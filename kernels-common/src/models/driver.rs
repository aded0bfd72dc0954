//! The driver of the models: a runtime whose calls are entries in a ledger.

use super::ledger::{Kept, Rules, Use};
use crate::code::target::{Code, Target};
use crate::device::GpuDevice;
use crate::launch::Arg;
use crate::runtime::{
    CompilerRuntime, DevicePtr, EventRuntime, GpuRuntime, GraphRuntime, MemoryRuntime, ModuleRuntime, PeerRuntime,
    PinnedRuntime, RawGraph, RawGraphExec, StreamRuntime, VendorRuntime,
};
use crate::storage::GpuStorage;
use crate::sync::Mutex;
use isobit_hal::{BackendDevice, DType, DeviceInfo, Error, ErrorKind, LaunchConfig, Limits, Result, Shape, Stream};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;

/// The bytes of a storage of a model, which is one block of the pool's smallest size.
pub(super) const BYTES: usize = 512;

/// The rules of a device behind one lock, as a vendor's driver has.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Rules>);

impl Ledger {
    /// Does a call. A broken rule fails the model.
    #[track_caller]
    fn call<T>(&self, call: impl FnOnce(&mut Rules) -> Kept<T>) -> T {
        let kept = call(&mut self.0.lock());
        // The lock is released here, so that unwinding can make more calls.
        kept.unwrap_or_else(|broken| panic!("{broken}"))
    }

    fn close(&self) {
        self.0.lock().handles -= 1;
    }

    /// Checks that a closed device gave back its memory and all handles.
    #[track_caller]
    pub(super) fn is_clear(&self) {
        assert_eq!(self.0.lock().left(), (0, 0), "blocks and handles are left");
    }
}

/// The handle of a stream or an event.
#[derive(Debug)]
pub(super) struct Handle(usize, Arc<Ledger>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.1.close();
    }
}

/// A device that executes nothing.
#[derive(Debug)]
pub(super) struct Modelled(Arc<Ledger>);

/// The device of a model.
pub(super) type Device = GpuDevice<Modelled>;
/// Its storages.
pub(super) type Storage = GpuStorage<Modelled>;

/// Opens a device.
pub(super) fn device() -> Device {
    Device::new(0).expect("it always opens")
}

impl Modelled {
    pub(super) fn ledger(&self) -> Arc<Ledger> {
        self.0.clone()
    }

    /// Work on a stream that no record of uses knows.
    pub(super) fn work(&self, stream: &Handle, ptr: DevicePtr, how: Use) {
        self.0.call(|rules| rules.work(stream.0, &[(ptr.0, how)]));
    }
}

/// Allocates a storage on this thread's stream.
pub(super) fn storage(device: &Device) -> Storage {
    // SAFETY: nothing reads the content.
    unsafe { device.alloc_uninit(&Shape::from([BYTES]), DType::U8) }.expect("the memory does not end")
}

/// Writes a storage on this thread's stream.
pub(super) fn write(device: &Device, x: &mut Storage) {
    let ptr = x.ptr();
    let work = |stream: &Handle| {
        device.runtime().work(stream, ptr, Use::Writes);
        Ok(())
    };
    device.enqueue(&[], &mut [x], work).expect("the ledger refuses nothing");
}

/// Reads a storage on this thread's stream.
pub(super) fn read(device: &Device, x: &Storage) {
    let work = |stream: &Handle| {
        device.runtime().work(stream, x.ptr(), Use::Reads);
        Ok(())
    };
    device.enqueue(&[x], &mut [], work).expect("the ledger refuses nothing");
}

/// Does something with a stream entered.
pub(super) fn on<T>(device: &Device, stream: &Stream, work: impl FnOnce() -> T) -> T {
    device.with_stream(stream, || Ok(work())).expect("the stream belongs to the device")
}

impl GpuRuntime for Modelled {
    const DRIVER: &'static str = "model";
    const TARGET: Target = Target::Nvptx;

    fn open(_ordinal: usize) -> Result<Self> {
        Ok(Self(Arc::default()))
    }

    fn limits(&self) -> &Limits {
        unreachable!("the models launch no kernels")
    }

    fn arch(&self) -> &str {
        "model"
    }

    fn info(&self) -> Result<DeviceInfo> {
        Ok(DeviceInfo::default())
    }
}

impl StreamRuntime for Modelled {
    type Stream = Handle;

    fn new_stream(&self) -> Result<Handle> {
        Ok(Handle(self.0.call(|rules| Ok(rules.new_stream())), self.0.clone()))
    }

    unsafe fn stream_from_raw(&self, _raw: u64) -> Result<Handle> {
        self.new_stream()
    }

    fn raw_stream(&self, stream: &Handle) -> u64 {
        stream.0 as u64
    }

    fn synchronize(&self, stream: &Handle) -> Result<()> {
        self.0.call(|rules| rules.synchronize(stream.0));
        Ok(())
    }

    fn stream_is_idle(&self, stream: &Handle) -> Result<bool> {
        Ok(self.0.call(|rules| Ok(rules.is_idle(stream.0))))
    }
}

impl EventRuntime for Modelled {
    type Event = Handle;

    fn new_event(&self) -> Result<Handle> {
        Ok(Handle(self.0.call(|rules| Ok(rules.new_event())), self.0.clone()))
    }

    fn new_ordering_event(&self) -> Result<Handle> {
        EventRuntime::new_event(self)
    }

    fn record(&self, event: &Handle, stream: &Handle) -> Result<()> {
        self.0.call(|rules| {
            rules.record(event.0, stream.0);
            Ok(())
        });
        Ok(())
    }

    fn wait_event(&self, stream: &Handle, event: &Handle) -> Result<()> {
        self.0.call(|rules| rules.wait(stream.0, event.0));
        Ok(())
    }

    fn event_is_done(&self, event: &Handle) -> Result<bool> {
        Ok(self.0.call(|rules| Ok(rules.is_over(event.0))))
    }

    fn synchronize_event(&self, event: &Handle) -> Result<()> {
        self.0.call(|rules| rules.synchronize_event(event.0));
        Ok(())
    }

    fn elapsed_ms(&self, _from: &Handle, _to: &Handle) -> Result<f32> {
        Ok(0.0)
    }
}

impl MemoryRuntime for Modelled {
    fn memory(&self) -> Result<(u64, u64)> {
        Ok((0, 0))
    }

    fn alloc(&self, _bytes: usize) -> Result<DevicePtr> {
        Ok(DevicePtr(self.0.call(|rules| Ok(rules.alloc()))))
    }

    unsafe fn free(&self, ptr: DevicePtr) {
        self.0.call(|rules| rules.free(ptr.0));
    }

    unsafe fn copy_to_device(&self, stream: &Handle, dst: DevicePtr, _src: &[u8]) -> Result<()> {
        self.work(stream, dst, Use::Writes);
        Ok(())
    }

    unsafe fn copy_to_host(&self, stream: &Handle, _dst: &mut [u8], src: DevicePtr) -> Result<()> {
        self.work(stream, src, Use::Reads);
        self.synchronize(stream)
    }

    unsafe fn copy_on_device(&self, stream: &Handle, dst: DevicePtr, src: DevicePtr, _bytes: usize) -> Result<()> {
        self.0.call(|rules| rules.work(stream.0, &[(src.0, Use::Reads), (dst.0, Use::Writes)]));
        Ok(())
    }

    unsafe fn set_bytes(&self, stream: &Handle, dst: DevicePtr, _value: u8, _bytes: usize) -> Result<()> {
        self.work(stream, dst, Use::Writes);
        Ok(())
    }
}

/// Page-locked memory is memory of the host, because its owner fills it with zeros.
fn pinned() -> Layout {
    Layout::from_size_align(BYTES, 64).expect("a power of two")
}

impl PinnedRuntime for Modelled {
    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>> {
        assert_eq!(bytes, BYTES, "all storages of a model have one size");
        // SAFETY: the size is not 0.
        let ptr = NonNull::new(unsafe { std::alloc::alloc(pinned()) }).expect("the host has memory");
        self.0.call(|rules| {
            rules.add(ptr.as_ptr() as u64);
            Ok(())
        });
        Ok(ptr)
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>) {
        self.0.call(|rules| rules.free_pinned(ptr.as_ptr() as u64));
        // SAFETY: `alloc_pinned` allocated it so, and the ledger has just seen its only free.
        unsafe { std::alloc::dealloc(ptr.as_ptr(), pinned()) };
    }

    unsafe fn copy_from_pinned(&self, stream: &Handle, dst: DevicePtr, src: NonNull<u8>, bytes: usize) -> Result<()> {
        // SAFETY: the same contract, for addresses in one space.
        unsafe { self.copy_on_device(stream, dst, DevicePtr(src.as_ptr() as u64), bytes) }
    }

    unsafe fn copy_to_pinned(&self, stream: &Handle, dst: NonNull<u8>, src: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: the same contract, for addresses in one space.
        unsafe { self.copy_on_device(stream, DevicePtr(dst.as_ptr() as u64), src, bytes) }
    }
}

impl GraphRuntime for Modelled {
    fn begin_capture(&self, stream: &Handle) -> Result<()> {
        self.0.call(|rules| rules.begin_capture(stream.0));
        Ok(())
    }

    fn is_capturing(&self, stream: &Handle) -> Result<bool> {
        Ok(self.0.call(|rules| Ok(rules.is_captured(stream.0))))
    }

    fn end_capture(&self, stream: &Handle) -> Result<RawGraph> {
        Ok(RawGraph(self.0.call(|rules| rules.end_capture(stream.0)) as u64))
    }

    unsafe fn graph_nodes(&self, graph: RawGraph) -> Result<usize> {
        Ok(self.0.call(|rules| Ok(rules.nodes(graph.0 as usize))))
    }

    unsafe fn instantiate(&self, graph: RawGraph) -> Result<RawGraphExec> {
        self.0.call(|rules| {
            rules.handles += 1;
            Ok(())
        });
        Ok(RawGraphExec(graph.0))
    }

    unsafe fn launch_graph(&self, stream: &Handle, exec: RawGraphExec) -> Result<()> {
        self.0.call(|rules| rules.launch(stream.0, exec.0 as usize));
        Ok(())
    }

    unsafe fn destroy_graph(&self, _graph: RawGraph) {
        self.0.close();
    }

    unsafe fn destroy_graph_exec(&self, _exec: RawGraphExec) {
        self.0.close();
    }
}

impl ModuleRuntime for Modelled {
    type Module = ();
    type Function = ();

    fn load_module(&self, _code: Code<'_>) -> Result<()> {
        Ok(())
    }

    fn function(&self, _module: &(), symbol: &str) -> Result<()> {
        Err(Error::new(ErrorKind::KernelMissing, format!("a modelled device has no kernel {symbol}")))
    }

    fn allow_dynamic_shared(&self, _function: (), _bytes: u32) -> Result<()> {
        Ok(())
    }

    unsafe fn launch(&self, _: &Handle, _: (), _: &LaunchConfig, _: &[Arg<'_>]) -> Result<()> {
        unreachable!("the models launch no kernels")
    }
}

impl CompilerRuntime for Modelled {}
impl PeerRuntime for Modelled {}
impl VendorRuntime for Modelled {}

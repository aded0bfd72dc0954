//! Kernel launches: HIP's checks, the arguments, and the work.

use crate::Code;
use crate::card::{LOCAL_BYTES_PER_GROUP, MAX_THREADS};
use crate::error::{Result, bail, call};
use crate::graph_node::KernelNodeParams;
use crate::module::{Function, function};
use crate::process::{Process, process};
use isobit_simgpu_amd::loader::ArgKind;
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::queue::Work;
use isobit_simgpu_runtime_common::arguments::{Arguments, Keys, Parameter};
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::payload::{Labelled, Payload};
use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `HIP_LAUNCH_PARAM_BUFFER_POINTER`, `HIP_LAUNCH_PARAM_BUFFER_SIZE`, `HIP_LAUNCH_PARAM_END`.
const KEYS: Keys = Keys { buffer: 1, size: 2, end: 3 };

/// `dim3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Dim3 {
    /// Along x.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Dim3 {
    fn axes(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// A launch whose arguments are already copied.
#[derive(Debug)]
pub(crate) struct Prepared {
    function: Arc<Function>,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    /// Bytes of stack per thread: the limit of the device at the launch.
    stack: u32,
    arguments: Arguments,
    /// The caller's name for the kernel: its handle or a host function.
    name: usize,
}

impl Prepared {
    /// Checks a launch and copies its arguments.
    ///
    /// # Safety
    /// `params` is null or points to a pointer to each of the kernel's arguments. `extra` is null
    /// or has the form that HIP documents.
    pub(crate) unsafe fn new(
        function: Arc<Function>,
        name: *const c_void,
        grid: Dim3,
        block: Dim3,
        shared: usize,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Result<Arc<Self>> {
        let kernel = &function.kernel;
        let shared = check(&function, grid, block, shared)?;
        let explicit = kernel.args.iter().filter(|arg| arg.kind == ArgKind::Explicit);
        let parameters: Vec<_> =
            explicit.map(|arg| Parameter { offset: arg.offset as usize, bytes: arg.bytes as usize }).collect();
        // SAFETY: the caller promises that `params` is null or points to a pointer to each of the
        // kernel's arguments, and that `extra` is null or has the form that HIP documents.
        let arguments = unsafe { Arguments::take(&kernel.name, &parameters, params, extra, KEYS) }?;
        let stack = process()?.cards[function.device].stack.load(Ordering::Relaxed);
        Ok(Arc::new(Self { function, grid, block, shared, stack, arguments, name: name as usize }))
    }

    /// Returns the work of the launch.
    pub(crate) fn work(self: Arc<Self>, process: &'static Process) -> Work {
        let payload = Payload::Kernel(self.clone());
        Work::new(move || self.run(process)).labelled(payload)
    }

    fn run(&self, process: &Process) -> std::result::Result<(), Fault> {
        let kernel = &self.function.kernel;
        let card = &process.cards[self.function.device];
        card.failure.run()?;
        card.gpu
            .launch_with_stack(
                kernel,
                self.grid.axes(),
                self.block.axes(),
                self.shared,
                self.stack,
                self.arguments.bytes(),
            )
            .inspect_err(|fault| {
                process.machine.tell_fault(&kernel.name, fault);
                card.failure.fail(fault);
            })
    }

    /// Returns the result of `hipGraphKernelNodeGetParams`. The arguments that it points to live as
    /// long as `self`.
    pub(crate) fn params(&self) -> KernelNodeParams {
        KernelNodeParams {
            block: self.block,
            extra: std::ptr::null_mut(),
            func: self.name as *mut c_void,
            grid: self.grid,
            params: self.arguments.pointers(),
            shared: self.shared,
        }
    }
}

/// Checks the limits of a launch, with HIP's codes.
fn check(function: &Function, grid: Dim3, block: Dim3, shared: usize) -> Result<u32> {
    let kernel = &function.kernel;
    let name = &kernel.name;
    if grid.axes().contains(&0) {
        bail!(INVALID_VALUE, "{name}: a grid of {grid:?} blocks is empty");
    }
    if block.axes().contains(&0) {
        bail!(INVALID_CONFIGURATION, "{name}: a block of {block:?} threads is empty");
    }
    for (blocks, threads) in grid.axes().into_iter().zip(block.axes()) {
        if u64::from(blocks) * u64::from(threads) > u64::from(u32::MAX) {
            bail!(
                INVALID_CONFIGURATION,
                "{name}: {blocks} blocks of {threads} threads along one dimension are 2^32 threads or more"
            );
        }
    }
    let threads = block.axes().into_iter().map(u64::from).product::<u64>();
    if threads > u64::from(MAX_THREADS) {
        bail!(INVALID_VALUE, "{name}: a block of {threads} threads; {MAX_THREADS} are the most");
    }
    if threads > u64::from(kernel.max_threads) {
        bail!(
            LAUNCH_FAILURE,
            "{name}: a block of {threads} threads; the kernel is compiled for {}",
            kernel.max_threads
        );
    }
    if shared > (LOCAL_BYTES_PER_GROUP.saturating_sub(kernel.lds_bytes)) as usize {
        let (own, most) = (kernel.lds_bytes, LOCAL_BYTES_PER_GROUP);
        bail!(
            INVALID_VALUE,
            "{name}: {shared} bytes of dynamic shared memory and {own} of its own; {most} are the most"
        );
    }
    Ok(shared as u32)
}

/// Enqueues a launch.
///
/// # Safety
/// As [`Prepared::new`].
#[expect(clippy::too_many_arguments, reason = "the arguments of HIP's launches")]
pub(crate) unsafe fn launch(
    function: Arc<Function>,
    name: *const c_void,
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result {
    let process = process()?;
    let stream = process.stream(stream)?;
    if process.machine.queues.device_of(stream)? != function.device {
        bail!(INVALID_HANDLE, "{} is loaded on a different device than the stream's", function.kernel.name);
    }
    // SAFETY: the caller promises what `Prepared::new` requires.
    let prepared = unsafe { Prepared::new(function, name, grid, block, shared, params, extra) }?;
    Ok(process.machine.queues.enqueue(stream, prepared.work(process))?)
}

/// Launches a kernel of a module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLaunchKernel(
    handle: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    call("hipModuleLaunchKernel", || {
        let function = function(process()?, handle)?;
        let grid = Dim3 { x: grid_x, y: grid_y, z: grid_z };
        let block = Dim3 { x: block_x, y: block_y, z: block_z };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { launch(function, handle, grid, block, shared as usize, stream, params, extra) }
    })
}

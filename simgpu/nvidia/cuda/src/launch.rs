//! Launches: CUDA's checks, the arguments, and the work.

use crate::Code;
use crate::card::{MAX_BLOCK, MAX_GRID};
use crate::error::{Result, bail, call, read};
use crate::library::any_function;
use crate::limits::stack_limit;
use crate::module::Function;
use crate::printed;
use crate::process::{Process, process};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::queue::Work;
use isobit_simgpu_runtime_common::arguments::{Arguments, Keys, Parameter};
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::payload::{Labelled, Payload};
use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `CU_LAUNCH_PARAM_BUFFER_POINTER`, `CU_LAUNCH_PARAM_BUFFER_SIZE`, `CU_LAUNCH_PARAM_END`.
const KEYS: Keys = Keys { buffer: 1, size: 2, end: 0 };

/// The parameters of a launch, except its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
}

/// A launch with its arguments copied.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) function: Arc<Function>,
    /// The handle that the caller passed for the kernel.
    pub(crate) handle: u64,
    pub(crate) shape: Shape,
    /// Bytes of stack per thread: the limit of the context at the launch.
    pub(crate) stack: u32,
    pub(crate) arguments: Arguments,
}

impl Prepared {
    /// Checks a launch and copies its arguments.
    ///
    /// # Safety
    /// `params` is null or points to one pointer per kernel argument; `extra` is null or as CUDA
    /// documents it.
    pub(crate) unsafe fn new(
        process: &Process,
        handle: Handle,
        shape: Shape,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Result<Arc<Self>> {
        let function = any_function(process, handle)?;
        let kernel = &function.kernel;
        check(&function, &shape)?;
        let arguments = kernel.arguments.iter();
        let parameters: Vec<_> =
            arguments.map(|a| Parameter { offset: a.offset as usize, bytes: a.bytes as usize }).collect();
        // SAFETY: the caller promises that `params` is null or points to one pointer per kernel
        // argument, and that `extra` is null or as CUDA documents it.
        let arguments = unsafe { Arguments::take(&kernel.name, &parameters, params, extra, KEYS) }?;
        let stack = stack_limit(&function.context);
        Ok(Arc::new(Self { function, handle: handle as u64, shape, stack, arguments }))
    }

    /// Returns the work of the launch.
    pub(crate) fn work(self: Arc<Self>, process: &'static Process) -> Work {
        let payload = Payload::Kernel(self.clone());
        Work::new(move || self.run(process)).labelled(payload)
    }

    /// Records that a kernel that prints is launched, from when on the buffer's size is fixed. A
    /// graph launches it when it runs.
    fn is_launched(&self) {
        if self.function.kernel.program.prints {
            self.function.context.prints.store(true, Ordering::Relaxed);
        }
    }

    fn run(&self, process: &Process) -> std::result::Result<(), Fault> {
        let (kernel, context) = (&self.function.kernel, &self.function.context);
        context.failure.run()?;
        self.is_launched();
        let gpu = &process.cards[context.device].gpu;
        let Shape { grid, block, shared } = self.shape;
        gpu.launch_with_stack(kernel, grid, block, shared, self.stack, self.arguments.bytes()).inspect_err(|fault| {
            process.machine.tell_fault(&kernel.name, fault);
            context.failure.fail(fault);
        })
    }
}

/// Checks the limits of a launch.
fn check(function: &Function, shape: &Shape) -> Result {
    let kernel = &function.kernel;
    let (name, Shape { grid, block, shared }) = (&kernel.name, *shape);
    let fits = |size: [u32; 3], most: [u32; 3]| size.iter().zip(most).all(|(&n, most)| (1..=most).contains(&n));
    if !fits(grid, MAX_GRID) {
        bail!(INVALID_VALUE, "{name}: the grid size {grid:?} is not between 1 and {MAX_GRID:?}");
    }
    if !fits(block, MAX_BLOCK) {
        bail!(INVALID_VALUE, "{name}: the block size {block:?} is not between 1 and {MAX_BLOCK:?}");
    }
    let threads: u32 = block.iter().product();
    if threads > kernel.max_threads {
        bail!(INVALID_VALUE, "{name}: a block of {threads} threads exceeds the maximum of {}", kernel.max_threads);
    }
    if let Some(required) = kernel.required_threads.filter(|required| *required != block) {
        bail!(INVALID_VALUE, "{name}: a block of {block:?} threads, but the kernel is compiled for {required:?}");
    }
    let most = function.attributes.dynamic_shared.load(Ordering::Relaxed);
    if shared > most {
        bail!(
            INVALID_VALUE,
            "{name}: {shared} bytes of dynamic shared memory, but without cuFuncSetAttribute the maximum is {most}"
        );
    }
    Ok(())
}

/// Enqueues a launch.
///
/// # Safety
/// The requirements of [`Prepared::new`].
pub(crate) unsafe fn launch(
    handle: Handle,
    shape: Shape,
    stream: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result {
    let process = process()?;
    let stream = process.stream(stream)?;
    // SAFETY: the caller meets the requirements of `Prepared::new`.
    let prepared = unsafe { Prepared::new(process, handle, shape, params, extra) }?;
    if !Arc::ptr_eq(&prepared.function.context, &stream.context) {
        bail!(INVALID_HANDLE, "{} and the stream belong to different contexts", prepared.function.kernel.name);
    }
    printed::flush(process);
    prepared.is_launched();
    Ok(process.machine.queues.enqueue(stream.id, prepared.work(process))?)
}

/// Launches a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
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
    let shape = Shape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared };
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuLaunchKernel", || unsafe { launch(function, shape, stream, params, extra) })
}

/// Rejects launches whose blocks would have to run at the same time: the simulator runs blocks one
/// after the other.
fn check_cooperative(shape: &Shape) -> Result {
    if shape.grid != [1; 3] {
        bail!(
            NOT_SUPPORTED,
            "cooperative launches of more than one block are not supported, as the device attribute says"
        );
    }
    Ok(())
}

/// Launches a kernel whose blocks wait for each other. Only one block is supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchCooperativeKernel(
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Handle,
    params: *mut *mut c_void,
) -> Code {
    let shape = Shape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared };
    call("cuLaunchCooperativeKernel", || {
        check_cooperative(&shape)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { launch(function, shape, stream, params, std::ptr::null_mut()) }
    })
}

/// `CUlaunchConfig`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct LaunchConfig {
    /// Blocks in the grid.
    pub grid: [c_uint; 3],
    /// Threads per block.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared: c_uint,
    /// The stream.
    pub stream: Handle,
    /// Launch attributes.
    pub attributes: *const LaunchAttribute,
    /// Number of attributes.
    pub count: c_uint,
}

/// `CUlaunchAttribute`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct LaunchAttribute {
    /// `CUlaunchAttributeID`.
    pub id: c_uint,
    /// Padding up to the value.
    pub padding: c_uint,
    /// The value, as 32-bit words.
    pub value: [c_uint; 16],
}

/// Checks a launch attribute: accepts hints, and rejects what the simulator cannot do.
fn check_attribute(attribute: &LaunchAttribute, shape: &Shape) -> Result {
    let LaunchAttribute { id, value, .. } = attribute;
    match id {
        // None, access-policy windows, synchronization policy, cluster scheduling, programmatic
        // (early) launches, priorities, memory domains, the carve-out.
        0 | 1 | 3 | 5 | 6 | 8 | 9 | 10 | 14 => Ok(()),
        2 if value[0] == 0 => Ok(()),
        2 => check_cooperative(shape),
        4 | 11 if value[..3].iter().all(|&n| n <= 1) => Ok(()),
        4 | 11 => bail!(NOT_SUPPORTED, "clusters of {:?} blocks (see the device attribute)", &value[..3]),
        7 | 12 => bail!(NOT_SUPPORTED, "events in the middle of a launch are not supported"),
        13 if value[0] == 0 => Ok(()),
        13 => bail!(NOT_SUPPORTED, "device-updatable nodes are not supported"),
        _ => bail!(INVALID_VALUE, "{id} is not a launch attribute"),
    }
}

/// Launches a kernel with attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const LaunchConfig,
    function: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    call("cuLaunchKernelEx", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let config = unsafe { read(config, "the configuration") }?;
        let shape = Shape { grid: config.grid, block: config.block, shared: config.shared };
        if config.count > 0 && config.attributes.is_null() {
            bail!(INVALID_VALUE, "{} attributes, but the pointer to them is null", config.count);
        }
        for index in 0..config.count as usize {
            // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
            check_attribute(&unsafe { config.attributes.add(index).read_unaligned() }, &shape)?;
        }
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { launch(function, shape, config.stream, params, extra) }
    })
}

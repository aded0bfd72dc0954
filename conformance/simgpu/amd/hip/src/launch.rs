//! Launches: the checks that HIP makes, the arguments, and the work.

use crate::Code;
use crate::card::{LOCAL_BYTES_PER_GROUP, MAX_THREADS};
use crate::error::{Result, bail, call};
use crate::graph_node::{KernelNodeParams, Labelled, Payload};
use crate::handles::Handle;
use crate::module::{Function, function};
use crate::process::{Process, process};
use isobit_simgpu_amd::loader::ArgKind;
use isobit_simgpu_core::finding::{Fault, Finding, FindingKind};
use isobit_simgpu_core::queue::Work;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

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

/// A launch whose arguments are taken.
#[derive(Debug)]
pub(crate) struct Prepared {
    function: Arc<Function>,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    arguments: Vec<u8>,
    /// The address in `arguments` of each, as `kernelParams` of whoever asks the node for its parameters.
    pointers: Vec<usize>,
    /// What the caller named the kernel by: its handle or a host function.
    name: usize,
}

impl Prepared {
    /// Checks a launch and takes its arguments.
    ///
    /// # Safety
    /// `params` is null or points to a pointer to each of the kernel's arguments; `extra` is null or as HIP documents it.
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
        if !params.is_null() && !extra.is_null() {
            bail!(INVALID_VALUE, "{}: kernelParams and extra are both given", kernel.name);
        }
        let shared = check(&function, grid, block, shared)?;
        let explicit = kernel.args.iter().filter(|arg| arg.kind == ArgKind::Explicit);
        let bytes = explicit.clone().map(|arg| (arg.offset + arg.bytes) as usize).max().unwrap_or(0);
        let mut arguments = vec![0; bytes];
        let offsets: Vec<usize> = explicit.clone().map(|arg| arg.offset as usize).collect();
        if bytes > 0 && !params.is_null() {
            for (index, arg) in explicit.enumerate() {
                // SAFETY: the caller's promise: as many pointers as arguments.
                let value = unsafe { params.add(index).read_unaligned() };
                if value.is_null() {
                    bail!(INVALID_VALUE, "{}: the pointer to argument {index} is null", kernel.name);
                }
                let to = &mut arguments[arg.offset as usize..(arg.offset + arg.bytes) as usize];
                // SAFETY: the caller's promise: the value has the argument's size.
                unsafe { std::ptr::copy_nonoverlapping(value.cast(), to.as_mut_ptr(), to.len()) };
            }
        } else if bytes > 0 && !extra.is_null() {
            // SAFETY: the caller's promise.
            let given = unsafe { packed(extra) }?;
            if given.len() < bytes {
                bail!(INVALID_VALUE, "{}: {} bytes of arguments; it takes {bytes}", kernel.name, given.len());
            }
            arguments.copy_from_slice(&given[..bytes]);
        } else if bytes > 0 {
            bail!(INVALID_VALUE, "{}: {bytes} bytes of arguments are expected, and none are given", kernel.name);
        }
        let pointers = offsets.into_iter().map(|offset| arguments.as_ptr() as usize + offset).collect();
        Ok(Arc::new(Self { function, grid, block, shared, arguments, pointers, name: name as usize }))
    }

    /// The work of the launch.
    pub(crate) fn work(self: Arc<Self>, process: &'static Process) -> Work {
        let payload = Payload::Kernel(self.clone());
        Work::new(move || self.run(process)).labelled(payload)
    }

    fn run(&self, process: &Process) -> std::result::Result<(), Fault> {
        let kernel = &self.function.kernel;
        let gpu = &process.cards[self.function.device].gpu;
        gpu.launch(kernel, self.grid.axes(), self.block.axes(), self.shared, &self.arguments).inspect_err(|fault| {
            eprintln!("simulated GPU: the launch of {} failed: {fault}", kernel.name);
            process.findings.push(Finding {
                kind: FindingKind::Fault,
                kernel: kernel.name.clone(),
                instruction: String::new(),
                thread: String::new(),
                buffer: String::new(),
                offset: 0,
                message: fault.to_string(),
            });
        })
    }

    /// What `hipGraphKernelNodeGetParams` tells. The arguments that it points to stay as long as this.
    pub(crate) fn params(&self) -> KernelNodeParams {
        KernelNodeParams {
            block: self.block,
            extra: std::ptr::null_mut(),
            func: self.name as *mut c_void,
            grid: self.grid,
            params: self.pointers.as_ptr().cast_mut().cast(),
            shared: self.shared,
        }
    }
}

/// The limits of a launch, with HIP's codes.
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
            bail!(INVALID_CONFIGURATION, "{name}: {blocks} blocks of {threads} threads along one dimension reach 2^32");
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

/// The arguments that `extra` holds: `HIP_LAUNCH_PARAM_BUFFER_POINTER` (1), `HIP_LAUNCH_PARAM_BUFFER_SIZE` (2), ended by
/// `HIP_LAUNCH_PARAM_END` (3).
///
/// # Safety
/// `extra` is as HIP documents it.
unsafe fn packed<'a>(extra: *mut *mut c_void) -> Result<&'a [u8]> {
    let (mut buffer, mut size) = (None, None);
    for pair in 0..3 {
        // SAFETY: the caller's promise: the list goes on until its end was read.
        let key = unsafe { extra.add(2 * pair).read_unaligned() } as usize;
        if key == 3 {
            break;
        }
        // SAFETY: as above; a value comes after each key.
        let value = unsafe { extra.add(2 * pair + 1).read_unaligned() };
        match key {
            1 => buffer = Some(value.cast::<u8>()),
            2 => size = Some(value.cast::<usize>()),
            _ => bail!(INVALID_VALUE, "extra has the unknown key {key}"),
        }
    }
    match (buffer, size) {
        (Some(buffer), Some(size)) if !buffer.is_null() && !size.is_null() => {
            // SAFETY: not null, and the caller's promise.
            Ok(unsafe { std::slice::from_raw_parts(buffer, size.read_unaligned()) })
        }
        _ => bail!(INVALID_VALUE, "extra lacks the buffer of the arguments or its size"),
    }
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
    if process.queues.device_of(stream)? != function.device {
        bail!(INVALID_HANDLE, "{} is loaded on another device than that of the stream", function.kernel.name);
    }
    // SAFETY: the caller's promise.
    let prepared = unsafe { Prepared::new(function, name, grid, block, shared, params, extra) }?;
    Ok(process.queues.enqueue(stream, prepared.work(process))?)
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
        // SAFETY: the caller's promise.
        unsafe { launch(function, handle, grid, block, shared as usize, stream, params, extra) }
    })
}

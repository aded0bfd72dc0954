//! The state of the process: devices, the simulated machine, contexts, and the handle tables.

use crate::Code;
use crate::card::{Card, card};
use crate::current::{Context, Slot, current};
use crate::error::{Error, Result, bail};
use crate::library::{Library, LibraryKernel};
use crate::limits::printf_bytes;
use crate::module::{Function, LoadedModule};
use crate::pool::Pools;
use crate::primary::Primary;
use isobit_simgpu_core::queue::StreamId;
use isobit_simgpu_core::settings::{cards, settings};
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::dispatch::Gpu;
use isobit_simgpu_runtime_common::Machine;
use isobit_simgpu_runtime_common::graph::Graphs;
use isobit_simgpu_runtime_common::handles::{Handle, Kind, Table};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

pub(crate) struct Process {
    pub(crate) machine: Machine,
    pub(crate) cards: Vec<Installed>,
    pub(crate) contexts: Table<Slot>,
    pub(crate) modules: Table<LoadedModule>,
    pub(crate) functions: Table<Function>,
    pub(crate) libraries: Table<Library>,
    pub(crate) kernels: Table<LibraryKernel>,
    pub(crate) graphs: Graphs,
    pub(crate) pools: Pools,
    /// Pairs of context IDs: the first context may access the memory of the second.
    pub(crate) peers: Mutex<HashSet<(u64, u64)>>,
    /// Objects that belong to contexts, by address or handle.
    made: Mutex<HashMap<u64, Made>>,
}

/// A device of this process.
pub(crate) struct Installed {
    pub(crate) card: &'static Card,
    pub(crate) gpu: Gpu,
    pub(crate) primary: Mutex<Primary>,
}

/// A stream, an event or memory, and how it was created.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) what: What,
    pub(crate) context: Arc<Context>,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
}

/// The type of an object that belongs to a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Stream,
    Event,
    Memory,
}

/// A stream whose context is usable.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    pub(crate) context: Arc<Context>,
}

thread_local! {
    /// The streams that stand for `CU_STREAM_PER_THREAD`, by the queue number of the context.
    static PER_THREAD: RefCell<HashMap<usize, StreamId>> = RefCell::new(HashMap::new());
}

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Returns the state of the process; fails before `cuInit`.
pub(crate) fn process() -> Result<&'static Process> {
    if !INITIALISED.load(Ordering::Acquire) {
        bail!(NOT_INITIALIZED, "cuInit was not called");
    }
    start()
}

/// Creates the state of the process at the first call.
pub(crate) fn start() -> Result<&'static Process> {
    static PROCESS: OnceLock<Result<Process>> = OnceLock::new();
    let process = PROCESS.get_or_init(|| {
        crate::report::tell_at_exit();
        Process::new()
    });
    INITIALISED.store(true, Ordering::Release);
    process.as_ref().map_err(Clone::clone)
}

impl Process {
    fn new() -> Result<Self> {
        let settings = settings();
        let known: Vec<_> = Arch::ALL.into_iter().map(|arch| (arch.name(), arch)).collect();
        let archs = cards("ISOBIT_SIM_CUDA", &known, Arch::Sm80);
        // Each context has its own queues, and there is no context yet.
        let machine = Machine::new("cuda", 0, Code::NOT_INITIALIZED)?;
        crate::printed::install(&machine.queues);
        let install = |arch| {
            let (memory, findings) = (machine.memory.clone(), machine.findings.clone());
            let gpu = Gpu::new(arch, memory, findings, settings.threads, settings.approx);
            let gpu = gpu.map_err(|fault| Error::new(Code::NOT_INITIALIZED, fault.to_string()))?;
            let card = card(arch);
            gpu.output().set_room(printf_bytes(card));
            Ok(Installed { card, gpu, primary: Mutex::default() })
        };
        let devices = archs.len();
        let cards = archs.into_iter().map(install).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            machine,
            cards,
            contexts: Table::new(Kind::Context),
            modules: Table::new(Kind::Module),
            functions: Table::new(Kind::Function),
            libraries: Table::new(Kind::Library),
            kernels: Table::new(Kind::Kernel),
            graphs: Graphs::default(),
            pools: Pools::new(devices),
            peers: Mutex::default(),
            made: Mutex::default(),
        })
    }

    /// Returns the index of the device that a caller names.
    pub(crate) fn device(&self, device: i32) -> Result<usize> {
        match usize::try_from(device) {
            Ok(device) if device < self.cards.len() => Ok(device),
            _ => bail!(INVALID_DEVICE, "device {device} was asked for; there are {}", self.cards.len()),
        }
    }

    /// Returns the stream that a handle names: null and 1 are the legacy default stream of the
    /// current context, 2 is the per-thread default stream.
    pub(crate) fn stream(&self, handle: Handle) -> Result<Stream> {
        match handle as u64 {
            0 | 1 => {
                let context = current()?;
                Ok(Stream { id: self.machine.queues.legacy(context.queue)?, context })
            }
            2 => {
                let context = current()?;
                let id = PER_THREAD.with_borrow_mut(|streams| {
                    if let Some(&stream) = streams.get(&context.queue) {
                        return Ok(stream);
                    }
                    let stream = self.machine.queues.create_stream(context.queue, true)?;
                    streams.insert(context.queue, stream);
                    Ok::<_, Error>(stream)
                })?;
                Ok(Stream { id, context })
            }
            id => {
                let made = self.find(id, What::Stream)?;
                Ok(Stream { id: StreamId(id), context: made.context })
            }
        }
    }

    /// Records an object that was created in a context.
    pub(crate) fn note(&self, key: u64, what: What, context: &Arc<Context>, flags: u32, priority: i32) {
        self.made.lock().insert(key, Made { what, context: context.clone(), flags, priority });
    }

    /// Removes an object from the table.
    pub(crate) fn forget(&self, key: u64) {
        self.made.lock().remove(&key);
    }

    /// Returns how an object was created, if it exists.
    pub(crate) fn origin(&self, key: u64) -> Option<Made> {
        self.made.lock().get(&key).cloned()
    }

    /// Returns a stream or an event; fails if its context is destroyed or has failed.
    pub(crate) fn find(&self, key: u64, what: What) -> Result<Made> {
        let Some(made) = self.origin(key).filter(|made| made.what == what) else {
            bail!(INVALID_HANDLE, "{key:#x} is not a {what:?}, or was destroyed");
        };
        made.context.check()?;
        Ok(made)
    }

    /// Destroys everything that belongs to a context when its work is done.
    pub(crate) fn empty(&self, context: &Arc<Context>) {
        let queues = &self.machine.queues;
        // Errors of the work are discarded with the context.
        let _ = queues.synchronize_device(context.queue);
        let mut gone = Vec::new();
        self.made.lock().retain(|&key, made| {
            let stays = !Arc::ptr_eq(&made.context, context);
            if !stays {
                gone.push((key, made.what));
            }
            stays
        });
        for (key, what) in gone {
            // The object exists: once it is out of the table, nothing else can destroy it.
            match what {
                What::Stream => drop(queues.destroy_stream(StreamId(key))),
                What::Event => drop(queues.destroy_event(isobit_simgpu_core::queue::EventId(key))),
                What::Memory => {
                    if let Some(found) = self.machine.memory.find(key) {
                        self.pools.left(&found);
                    }
                    drop(self.machine.memory.free(key));
                }
            }
        }
        self.functions.remove_if(|function| Arc::ptr_eq(&function.context, context));
        self.modules.remove_if(|module| Arc::ptr_eq(&module.context, context));
    }
}

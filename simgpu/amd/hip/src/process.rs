//! The state of the process: cards, memory, findings, queues, and the tables of handles.

use crate::Code;
use crate::card::{Card, card};
use crate::error::{Error, Result, bail};
use crate::module::{Function, LoadedModule};
use isobit_simgpu_amd::dispatch::{DEFAULT_STACK, Gpu};
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_core::queue::{EventId, QueueError, StreamId};
use isobit_simgpu_core::settings::{cards, settings};
use isobit_simgpu_runtime_common::graph::Graphs;
use isobit_simgpu_runtime_common::handles::{Handle, Kind, Table};
use isobit_simgpu_runtime_common::{Machine, Sticky};
use parking_lot::{Mutex, MutexGuard};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::result::Result as Outcome;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;

pub(crate) struct Process {
    pub(crate) machine: Machine,
    pub(crate) cards: Vec<Installed>,
    pub(crate) modules: Table<LoadedModule>,
    pub(crate) functions: Table<Function>,
    pub(crate) graphs: Graphs,
    /// Pairs of a card and a peer whose memory it may access.
    pub(crate) peers: Mutex<HashSet<(usize, usize)>>,
    /// The flags, priority and device with which memory, streams and events were created, by
    /// address or handle.
    pub(crate) origins: Mutex<HashMap<u64, Origin>>,
}

/// A card of this process.
pub(crate) struct Installed {
    pub(crate) card: &'static Card,
    pub(crate) gpu: Gpu,
    pub(crate) failure: Sticky,
    /// Bytes of stack per thread (`hipLimitStackSize`).
    pub(crate) stack: AtomicU32,
}

/// How an object was created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) device: usize,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
}

thread_local! {
    static DEVICE: Cell<usize> = const { Cell::new(0) };
    /// The streams of `hipStreamPerThread`, by device.
    static PER_THREAD: RefCell<HashMap<usize, StreamId>> = RefCell::new(HashMap::new());
}

/// Returns the state of the process; the first call that needs it creates it.
pub(crate) fn process() -> Result<&'static Process> {
    static PROCESS: OnceLock<Result<Process>> = OnceLock::new();
    let process = PROCESS.get_or_init(|| {
        crate::report::tell_at_exit();
        Process::new()
    });
    process.as_ref().map_err(Clone::clone)
}

/// Returns the state of the process; fails if the current card does not accept calls after a
/// failure.
pub(crate) fn working() -> Result<&'static Process> {
    let process = process()?;
    process.check(current_device())?;
    Ok(process)
}

impl Process {
    fn new() -> Result<Self> {
        let settings = settings();
        let known: Vec<_> = Arch::ALL.into_iter().map(|arch| (arch.name(), arch)).collect();
        let archs = cards("ISOBIT_SIM_ROCM", &known, Arch::Gfx90a);
        let machine = Machine::new("rocm", archs.len(), Code::NOT_INITIALIZED)?;
        let install = |arch| {
            let (memory, findings) = (machine.memory.clone(), machine.findings.clone());
            let gpu = Gpu::new(arch, memory, findings, settings.threads, settings.approx);
            let gpu = gpu.map_err(|fault| Error::new(Code::NOT_INITIALIZED, fault.to_string()))?;
            let (failure, stack) = (Sticky::default(), AtomicU32::new(DEFAULT_STACK));
            Ok(Installed { card: card(arch), gpu, failure, stack })
        };
        let cards = archs.into_iter().map(install).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            machine,
            cards,
            modules: Table::new(Kind::Module),
            functions: Table::new(Kind::Function),
            graphs: Graphs::default(),
            peers: Mutex::default(),
            origins: Mutex::default(),
        })
    }

    /// Checks a device number that a caller passes, and returns it.
    pub(crate) fn device(&self, device: i32) -> Result<usize> {
        match usize::try_from(device) {
            Ok(device) if device < self.cards.len() => Ok(device),
            _ => bail!(INVALID_DEVICE, "device {device} was asked for; there are {}", self.cards.len()),
        }
    }

    /// Fails if the caller was told that work of the card failed. Until its reset the card then
    /// accepts no call that needs it: for its memory, work, code, limits or peers. What is known
    /// without it still is: its properties, those of pointers, and graphs, except for kernels in
    /// them.
    pub(crate) fn check(&self, device: usize) -> Result {
        self.cards[device].failure.check()
    }

    /// Finishes a call that waited for work of a card: reports a failure.
    pub(crate) fn settle<T>(&self, device: usize, outcome: Outcome<T, impl Into<Error>>) -> Result<T> {
        self.cards[device].failure.settle(outcome.map_err(Into::into))
    }

    /// Returns the stream of a handle. Null and 1 are the legacy default stream of the current
    /// device, 2 is the default stream of the thread. Fails if its card does not accept calls.
    pub(crate) fn stream(&self, handle: Handle) -> Result<StreamId> {
        let stream = self.stream_of(handle)?;
        // An unknown stream has no card; the caller's next step says so.
        self.machine.queues.device_of(stream).map_or(Ok(()), |device| self.check(device))?;
        Ok(stream)
    }

    /// Finishes a call that waited for work of a stream.
    pub(crate) fn settle_stream<T>(&self, stream: StreamId, outcome: Outcome<T, impl Into<Error>>) -> Result<T> {
        self.settle_if(self.machine.queues.device_of(stream), outcome)
    }

    /// Finishes a call that waited for an event.
    pub(crate) fn settle_event<T>(&self, event: EventId, outcome: Outcome<T, impl Into<Error>>) -> Result<T> {
        self.settle_if(self.machine.queues.event_device(event), outcome)
    }

    /// Finishes a call that waited for work of a card, if there is one: an unknown handle has none.
    fn settle_if<T>(&self, device: Outcome<usize, QueueError>, outcome: Outcome<T, impl Into<Error>>) -> Result<T> {
        match device {
            Ok(device) => self.settle(device, outcome),
            Err(_) => outcome.map_err(Into::into),
        }
    }

    fn stream_of(&self, handle: Handle) -> Result<StreamId> {
        match handle as u64 {
            0 | 1 => Ok(self.machine.queues.legacy(current_device())?),
            2 => PER_THREAD.with_borrow_mut(|streams| {
                let device = current_device();
                if let Some(&stream) = streams.get(&device) {
                    return Ok(stream);
                }
                let stream = self.machine.queues.create_stream(device, true)?;
                streams.insert(device, stream);
                Ok(stream)
            }),
            id => Ok(StreamId(id)),
        }
    }

    pub(crate) fn origins(&self) -> MutexGuard<'_, HashMap<u64, Origin>> {
        self.origins.lock()
    }

    /// Records how an object was created on the current device.
    pub(crate) fn note(&self, key: u64, flags: u32, priority: i32) {
        self.origins().insert(key, Origin { device: current_device(), flags, priority });
    }
}

/// Returns the current device of the calling thread.
pub(crate) fn current_device() -> usize {
    DEVICE.get()
}

pub(crate) fn set_current_device(device: usize) {
    DEVICE.set(device);
}

/// Calls a function while another device is current for the thread.
pub(crate) fn on_device<T>(device: usize, function: impl FnOnce() -> T) -> T {
    let before = DEVICE.replace(device);
    let result = function();
    DEVICE.set(before);
    result
}

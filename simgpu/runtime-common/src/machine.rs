//! What is simulated: memory, findings and queues, and the parts of allocation that know no vendor.

use crate::error::{Error, Result};
use crate::{ResultCode, bail};
use isobit_simgpu_core::finding::{Fault, Finding, FindingKind, Findings};
use isobit_simgpu_core::memory::{Allocation, Kind, Memory};
use isobit_simgpu_core::queue::{Mode, Queues};
use isobit_simgpu_core::settings::settings;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The simulated devices of a process, but for the processors on them.
pub struct Machine {
    /// The memory of all devices.
    pub memory: Arc<Memory>,
    /// What was found.
    pub findings: Arc<Findings>,
    /// Work.
    pub queues: Queues,
    /// Memory of the host that was registered: its length by its start.
    registered: Mutex<BTreeMap<u64, u64>>,
}

impl Machine {
    /// A machine with the settings of the process, whose queues have as many devices.
    ///
    /// # Errors
    /// The host gives no addresses for the memory, which becomes the code that is given.
    pub fn new<C>(devices: usize, not_initialised: C) -> Result<Self, C> {
        let settings = settings();
        let memory = Memory::new(settings.memory).map_err(|error| {
            let why =
                format!("{} bytes of addresses cannot be reserved: {error}; set ISOBIT_SIM_MEMORY", settings.memory);
            eprintln!("simulated GPU: {why}");
            Error::new(not_initialised, why)
        })?;
        let mode = if settings.defer { Mode::Latest } else { Mode::Eager };
        Ok(Self {
            memory: Arc::new(memory),
            findings: Arc::new(Findings::new()),
            queues: Queues::new(devices, mode),
            registered: Mutex::default(),
        })
    }

    /// Allocates memory of a kind.
    ///
    /// # Errors
    /// There is not so much; a capture forbids it.
    pub fn allocate<C: ResultCode>(&self, bytes: usize, kind: Kind) -> Result<u64, C> {
        self.queues.refuse_in_capture()?;
        Ok(self.memory.alloc(bytes, kind, if kind == Kind::Pinned { "host memory" } else { "" })?)
    }

    /// Frees memory of a kind when all work is done: what is pending may use it.
    ///
    /// # Errors
    /// No such memory starts there; a capture forbids it.
    pub fn release<C: ResultCode>(&self, address: u64, kind: Kind) -> Result<(), C> {
        self.queues.refuse_in_capture()?;
        self.starts(address, kind)?;
        self.queues.drain();
        self.memory.free(address).map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))
    }

    /// The live allocation of a kind that starts at an address.
    ///
    /// # Errors
    /// None does. Allocations of no bytes do not exist, so that whatever is not found is stale or
    /// foreign.
    pub fn starts<C: ResultCode>(&self, address: u64, kind: Kind) -> Result<Arc<Allocation>, C> {
        match self.memory.find(address) {
            Some(found) if found.base == address && found.kind == kind => Ok(found),
            Some(found) => {
                bail!(C, INVALID_VALUE, "{address:#x} is not the start of {kind:?} memory; it lies in {found}")
            }
            None => bail!(C, INVALID_VALUE, "no allocation starts at {address:#x}"),
        }
    }

    /// The live allocation that holds an address.
    ///
    /// # Errors
    /// None does, which becomes the code that is given.
    pub fn find<C>(&self, address: u64, missing: C) -> Result<Arc<Allocation>, C> {
        let found = self.memory.find(address);
        found.ok_or_else(|| Error::new(missing, format!("no allocation holds {address:#x}")))
    }

    /// Tells that a launch could not be executed to its end.
    pub fn tell_fault(&self, kernel: &str, fault: &Fault) {
        eprintln!("simulated GPU: the launch of {kernel} failed: {fault}");
        self.findings.push(Finding {
            kind: FindingKind::Fault,
            kernel: kernel.to_owned(),
            instruction: String::new(),
            thread: String::new(),
            buffer: String::new(),
            offset: 0,
            message: fault.to_string(),
        });
    }

    /// Registers memory of the host, whose copies then need not be made before their calls return.
    /// False where a part of it is registered already.
    pub fn register(&self, start: u64, bytes: u64) -> bool {
        let mut registered = self.registered.lock();
        let before = registered.range(..start.saturating_add(bytes)).next_back();
        let free = before.is_none_or(|(&other, &length)| other + length <= start);
        if free {
            registered.insert(start, bytes);
        }
        free
    }

    /// Forgets registered memory that starts at an address. False where none does.
    pub fn unregister(&self, start: u64) -> bool {
        self.registered.lock().remove(&start).is_some()
    }

    /// Start and length of the registered memory that holds an address.
    pub fn registered_at(&self, address: u64) -> Option<(u64, u64)> {
        let registered = self.registered.lock();
        let (&start, &bytes) = registered.range(..=address).next_back()?;
        (address - start < bytes).then_some((start, bytes))
    }
}

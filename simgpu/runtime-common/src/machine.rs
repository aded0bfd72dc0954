//! The simulated machine: memory, findings and queues, and the vendor-independent parts of
//! allocation.

use crate::error::{Error, Result};
use crate::{ResultCode, bail};
use isobit_simgpu_core::coverage;
use isobit_simgpu_core::finding::report::ReportFile;
use isobit_simgpu_core::finding::suppress::Suppressions;
use isobit_simgpu_core::finding::{Fault, Finding, Findings};
use isobit_simgpu_core::memory::{Allocation, Kind, Memory};
use isobit_simgpu_core::queue::{Mode, Queues};
use isobit_simgpu_core::settings::{Settings, settings};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The simulated devices of a process, except their processors.
pub struct Machine {
    /// The memory of all devices.
    pub memory: Arc<Memory>,
    /// The findings.
    pub findings: Arc<Findings>,
    /// The queues of work.
    pub queues: Queues,
    /// Registered host memory: its length by its start.
    registered: Mutex<BTreeMap<u64, u64>>,
}

impl Machine {
    /// Creates a vendor's machine with the settings of the process and queues for `devices`
    /// devices.
    ///
    /// # Errors
    /// Returns `not_initialised` if the address range for the memory cannot be reserved.
    pub fn new<C>(vendor: &str, devices: usize, not_initialised: C) -> Result<Self, C> {
        let settings = settings();
        coverage::begin(vendor);
        let memory = Memory::new(settings.memory).map_err(|error| {
            let why =
                format!("{} bytes of addresses cannot be reserved: {error}; set ISOBIT_SIM_MEMORY", settings.memory);
            eprintln!("simulated GPU: {why}");
            Error::new(not_initialised, why)
        })?;
        let mode = if settings.defer { Mode::Latest } else { Mode::Eager };
        Ok(Self {
            memory: Arc::new(memory),
            findings: Arc::new(findings(settings, vendor)),
            queues: Queues::new(devices, mode),
            registered: Mutex::default(),
        })
    }

    /// Allocates memory of a kind.
    ///
    /// # Errors
    /// Fails if there is not enough memory or a capture forbids it.
    pub fn allocate<C: ResultCode>(&self, bytes: usize, kind: Kind) -> Result<u64, C> {
        self.queues.refuse_in_capture()?;
        Ok(self.memory.alloc(bytes, kind, if kind == Kind::Pinned { "host memory" } else { "" })?)
    }

    /// Frees memory of a kind that a device of the queues made, after waiting for the work that may
    /// use it.
    ///
    /// # Errors
    /// Fails if no such memory starts there, a capture forbids it, or a function of the host calls
    /// it: the work includes that function.
    pub fn release<C: ResultCode>(&self, device: usize, address: u64, kind: Kind) -> Result<(), C> {
        self.queues.refuse_in_capture()?;
        self.starts(address, kind)?;
        self.queues.drain(Some(device))?;
        self.memory.free(address).map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))
    }

    /// Returns the live allocation of a kind that starts at an address.
    ///
    /// # Errors
    /// Fails if none starts there. Allocations of zero bytes do not exist, so an address that is
    /// not found is stale or foreign.
    pub fn starts<C: ResultCode>(&self, address: u64, kind: Kind) -> Result<Arc<Allocation>, C> {
        match self.memory.find(address) {
            Some(found) if found.base == address && found.kind == kind => Ok(found),
            Some(found) => {
                bail!(C, INVALID_VALUE, "{address:#x} is not the start of {kind:?} memory; it is in {found}")
            }
            None => bail!(C, INVALID_VALUE, "no allocation starts at {address:#x}"),
        }
    }

    /// Returns the live allocation that contains an address.
    ///
    /// # Errors
    /// Returns `missing` if there is none.
    pub fn find<C>(&self, address: u64, missing: C) -> Result<Arc<Allocation>, C> {
        let found = self.memory.find(address);
        found.ok_or_else(|| Error::new(missing, format!("no allocation contains {address:#x}")))
    }

    /// Reports that a launch failed, unless a finding already says why.
    pub fn tell_fault(&self, kernel: &str, fault: &Fault) {
        eprintln!("simulated GPU: the launch of {kernel} failed: {fault}");
        if !fault.is_found() {
            self.findings.push(Finding::fault(kernel, fault));
            self.findings.save();
        }
    }

    /// Registers host memory, so that copies of it need not finish before their calls return.
    /// Returns false if a part of it is already registered.
    pub fn register(&self, start: u64, bytes: u64) -> bool {
        let mut registered = self.registered.lock();
        let before = registered.range(..start.saturating_add(bytes)).next_back();
        let free = before.is_none_or(|(&other, &length)| other + length <= start);
        if free {
            registered.insert(start, bytes);
        }
        free
    }

    /// Unregisters the memory that starts at an address. Returns false if there is none.
    pub fn unregister(&self, start: u64) -> bool {
        self.registered.lock().remove(&start).is_some()
    }

    /// Returns start and length of the registered memory that contains an address.
    pub fn registered_at(&self, address: u64) -> Option<(u64, u64)> {
        let registered = self.registered.lock();
        let (&start, &bytes) = registered.range(..=address).next_back()?;
        (address - start < bytes).then_some((start, bytes))
    }
}

/// Returns a collector of findings with the settings of the process. What is wrong with the
/// suppressions is reported on stderr.
fn findings(settings: &Settings, vendor: &str) -> Findings {
    let (suppressions, errors) =
        settings.suppressions.as_ref().map(|path| Suppressions::read(Path::new(path))).unwrap_or_default();
    errors.iter().for_each(|error| eprintln!("simulated GPU: {error}"));
    let file = settings.report.as_ref().and_then(|path| ReportFile::new(path, vendor));
    Findings::with(settings.response, suppressions, file)
}

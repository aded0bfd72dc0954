//! How a rank reaches its hub: directly, or through a socket from another process.

use crate::hub::{self, Hub};
use crate::id::{UniqueId, random};
use crate::packet::Packet;
use crate::request::Request;
use crate::server;
use crate::status::{Failure, INTERNAL_ERROR, SUCCESS, Status};
use isobit_simgpu_library_common::Vendor;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// The hubs of this process, by the name of their socket.
static HUBS: Mutex<Option<HashMap<String, Arc<Hub>>>> = Mutex::new(None);
/// The hubs of other processes that ranks of this one have come to.
static REMOTES: Mutex<Option<HashMap<String, Weak<Remote>>>> = Mutex::new(None);

/// How a rank reaches its hub.
#[derive(Debug, Clone)]
pub(crate) enum Link {
    Local(String, Arc<Hub>),
    Remote(Arc<Remote>),
}

/// A hub of another process.
#[derive(Debug)]
pub(crate) struct Remote {
    vendor: &'static Vendor,
    name: String,
    /// Open as long as this process takes part: its end tells the hub that the ranks are gone.
    _attendance: UnixStream,
}

/// How long a rank waits longer than its hub, which normally answers before.
const MARGIN: Duration = Duration::from_secs(30);
/// The time between two looks at what this process could do for the other ranks.
const SLICE: Duration = Duration::from_millis(10);

/// Returns the number of this process, which tells its ranks from those of others.
pub(crate) fn process() -> Result<u64, Failure> {
    static PROCESS: OnceLock<Result<u64, Failure>> = OnceLock::new();
    PROCESS.get_or_init(random).clone()
}

/// Makes an id, and the hub behind it.
pub(crate) fn new_id(vendor: &'static Vendor) -> Result<UniqueId, Failure> {
    let id = UniqueId::new()?;
    let name = id.name()?.to_owned();
    let hub = Arc::new(Hub::new(vendor, hub::limit()));
    let over = name.clone();
    server::start(&name, hub.clone(), move || {
        HUBS.lock().as_mut().and_then(|hubs| hubs.remove(&over));
    })?;
    HUBS.lock().get_or_insert_default().insert(name, hub);
    Ok(id)
}

impl Link {
    /// Returns the way to the hub of an id.
    pub(crate) fn to(vendor: &'static Vendor, id: &UniqueId) -> Result<Self, Failure> {
        let name = id.name()?;
        if let Some(hub) = HUBS.lock().as_ref().and_then(|hubs| hubs.get(name)) {
            return Ok(Self::Local(name.to_owned(), hub.clone()));
        }
        let mut remotes = REMOTES.lock();
        let remotes = remotes.get_or_insert_default();
        remotes.retain(|_, remote| remote.strong_count() > 0);
        if let Some(remote) = remotes.get(name).and_then(Weak::upgrade) {
            return Ok(Self::Remote(remote));
        }
        let process = process()?;
        let attend = || {
            let mut connection = UnixStream::connect_addr(&server::address(name)?)?;
            Request::Attend { process }.pack().write(&mut connection)?;
            Ok(connection)
        };
        let attendance = attend().map_err(unreachable)?;
        let remote = Arc::new(Remote { vendor, name: name.to_owned(), _attendance: attendance });
        remotes.insert(name.to_owned(), Arc::downgrade(&remote));
        Ok(Self::Remote(remote))
    }

    /// The name of the hub.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Local(name, _) => name,
            Self::Remote(remote) => &remote.name,
        }
    }

    /// Asks the hub for something, and waits for the answer.
    pub(crate) fn call(&self, request: Request) -> Result<Packet, Failure> {
        match self {
            Self::Local(_, hub) => hub.serve(request, false),
            Self::Remote(remote) => remote.call(request),
        }
    }

    /// Ends the hub if every rank has left.
    pub(crate) fn end(&self) {
        if let Self::Local(name, hub) = self
            && hub.is_over()
        {
            server::wake(name);
        }
    }
}

impl Remote {
    fn call(&self, request: Request) -> Result<Packet, Failure> {
        let mut packet = self.ask(request).map_err(unreachable)?;
        if packet.numbers.is_empty() {
            return Err(Failure::new(INTERNAL_ERROR, "the answer to a rank has no status"));
        }
        match packet.numbers.remove(0) as Status {
            SUCCESS => Ok(packet),
            status => {
                let why = packet.parts.pop().unwrap_or_default();
                Err(Failure::new(status, String::from_utf8_lossy(&why)))
            }
        }
    }

    fn ask(&self, request: Request) -> io::Result<Packet> {
        let mut connection = UnixStream::connect_addr(&server::address(&self.name)?)?;
        request.pack().write(&mut connection)?;
        connection.set_read_timeout(Some(SLICE))?;
        let deadline = Instant::now() + hub::limit() + MARGIN;
        loop {
            match connection.read_exact(&mut [0]) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if Instant::now() > deadline {
                        return Err(error);
                    }
                    if let Ok(runtime) = self.vendor.runtime() {
                        runtime.urge();
                    }
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        connection.set_read_timeout(Some(MARGIN))?;
        Packet::read(&mut connection)
    }
}

fn unreachable(error: io::Error) -> Failure {
    Failure::remote(format!("the process that made the id has ended or does not answer: {error}"))
}

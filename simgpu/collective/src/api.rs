//! The functions of both vendors' libraries, for a vendor's devices. [`collective_functions!`]
//! gives them their names. Each checks its arguments as NCCL does.
//!
//! [`collective_functions!`]: crate::collective_functions

use crate::batch;
use crate::call::Call;
pub use crate::call::Kind;
use crate::communicator::{COMMUNICATORS, Communicator, Place, Work};
use crate::id::UniqueId;
use crate::link::{self, Link};
use crate::number::{DataType, Op};
use crate::request::{Request, Seat};
use crate::status::{self, Failure, IN_PROGRESS, INTERNAL_ERROR, SUCCESS, Status, UNHANDLED_CUDA_ERROR};
use crate::transfer::{Direction, Transfer};
use isobit_simgpu_library_common::{Runtime, Vendor, guarded};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// The version of NCCL whose interface this is: 2.27.7, of CUDA 13.0 and ROCm 7.
const VERSION: c_int = 22707;

/// The color of a rank that is in no part of a communicator.
const NO_COLOR: c_int = -1;

/// What identifies a config that was initialised.
const MAGIC: u32 = 0xcafe_beef;

/// The value of a config's number that says nothing.
const UNDEFINED: c_int = c_int::MIN;

/// The fields of `ncclConfig_t` that every release has. The others only concern the speed.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
}

/// Runs the body of a function. Its failure is also one of the group that the thread is in.
fn run(body: impl FnOnce() -> Result<Status, Failure>) -> Status {
    guarded(INTERNAL_ERROR, || status::settle(body().inspect_err(batch::spoil)))
}

fn get(communicator: *mut c_void) -> Result<Arc<Communicator>, Failure> {
    let none = || Failure::argument("the communicator is null, or was destroyed");
    COMMUNICATORS.get(communicator).ok_or_else(none)
}

fn runtime(vendor: &'static Vendor) -> Result<&'static Runtime, Failure> {
    vendor.runtime().map_err(|why| Failure::new(INTERNAL_ERROR, why))
}

/// # Safety
/// `to` is null or can be written.
unsafe fn put<T>(to: *mut T, value: T, what: &str) -> Result<(), Failure> {
    if to.is_null() {
        return Err(Failure::argument(format!("the pointer to {what} is null")));
    }
    // SAFETY: not null; the caller promises that it can be written.
    unsafe { to.write(value) };
    Ok(())
}

/// Whether communicators with a config wait until their calls are done. `inherited` is the answer
/// of a config that does not say.
///
/// # Safety
/// `config` is null or can be read.
unsafe fn blocks(config: *const Config, inherited: bool) -> Result<bool, Failure> {
    if config.is_null() {
        return Ok(inherited);
    }
    // SAFETY: not null; the caller promises that it can be read.
    let Config { size, magic, blocking, .. } = unsafe { config.read() };
    if magic != MAGIC || size < size_of::<Config>() {
        return Err(Failure::argument("ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER"));
    }
    match blocking {
        UNDEFINED => Ok(inherited),
        0 | 1 => Ok(blocking == 1),
        other => Err(Failure::argument(format!("blocking is {other} in the config, neither 0 nor 1"))),
    }
}

/// Writes the version.
///
/// # Safety
/// `version` is null or can be written.
pub unsafe fn version(version: *mut c_int) -> Status {
    // SAFETY: the caller promises that it is null or can be written.
    run(|| unsafe { put(version, VERSION, "the version") }.map(|()| SUCCESS))
}

/// Makes an id.
///
/// # Safety
/// `id` is null or can be written.
pub unsafe fn unique_id(vendor: &'static Vendor, id: *mut UniqueId) -> Status {
    run(|| {
        if id.is_null() {
            return Err(Failure::argument("the pointer to the id is null"));
        }
        // SAFETY: not null; the caller promises that it can be written.
        unsafe { put(id, link::new_id(vendor)?, "the id") }.map(|()| SUCCESS)
    })
}

/// Makes the communicator of a rank on a device.
fn begin(
    vendor: &'static Vendor,
    [ranks, rank]: [c_int; 2],
    id: UniqueId,
    device: c_int,
    is_blocking: bool,
) -> Result<(*mut c_void, Status), Failure> {
    let (Ok(ranks), Ok(rank)) = (usize::try_from(ranks), usize::try_from(rank)) else {
        return Err(Failure::argument(format!("{rank} of {ranks} is no rank")));
    };
    if rank >= ranks {
        return Err(Failure::argument(format!("there are {ranks} ranks from 0, so {rank} is none of them")));
    }
    let handle = COMMUNICATORS.insert(Communicator::new(vendor, device, is_blocking));
    let communicator = get(handle)?;
    let me = communicator.clone();
    let made = batch::call(communicator, move || {
        let link = Link::to(vendor, &id)?;
        link.call(Request::Join { ranks, rank, device, process: link::process()? })?;
        me.settle(Place { link, seat: Seat { group: 0, rank }, ranks });
        Ok(())
    });
    match made {
        Ok(status) => Ok((handle, status)),
        Err(failure) => {
            COMMUNICATORS.remove(handle);
            Err(failure)
        }
    }
}

/// Makes a rank's communicator on the current device.
///
/// # Safety
/// `communicator` is null or can be written; `config` is null or can be read.
pub unsafe fn init_rank(
    vendor: &'static Vendor,
    communicator: *mut *mut c_void,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
    config: *const Config,
) -> Status {
    run(|| {
        // SAFETY: the caller promises that both are null or valid.
        let is_blocking = unsafe {
            put(communicator, std::ptr::null_mut(), "the communicator")?;
            blocks(config, true)?
        };
        let none = |code| Failure::new(UNHANDLED_CUDA_ERROR, format!("the thread has no device: error {code}"));
        let device = runtime(vendor)?.current_device().map_err(none)?;
        let (handle, status) = begin(vendor, [ranks, rank], id, device, is_blocking)?;
        // SAFETY: the caller promises that it can be written.
        unsafe { put(communicator, handle, "the communicator") }?;
        Ok(status)
    })
}

/// Makes the communicators of all ranks, one for each device.
///
/// # Safety
/// `communicators` is null or has room for `count` handles; `devices` is null or has `count`
/// numbers.
pub unsafe fn init_all(
    vendor: &'static Vendor,
    communicators: *mut *mut c_void,
    count: c_int,
    devices: *const c_int,
) -> Status {
    run(|| {
        let ranks = usize::try_from(count).ok().filter(|&count| count > 0);
        let Some(ranks) = ranks.filter(|_| !communicators.is_null()) else {
            return Err(Failure::argument(format!("there is no room for communicators, or {count} are no ranks")));
        };
        let failed = |code| Failure::new(UNHANDLED_CUDA_ERROR, format!("the devices cannot be counted: error {code}"));
        let there = runtime(vendor)?.device_count().map_err(failed)?;
        let devices: Vec<c_int> = match devices.is_null() {
            true => (0..count).collect(),
            // SAFETY: not null; the caller promises so many numbers.
            false => unsafe { std::slice::from_raw_parts(devices, ranks) }.to_vec(),
        };
        if let Some(device) = devices.iter().find(|device| !(0..there).contains(device)) {
            return Err(Failure::argument(format!("there are {there} devices, and none is {device}")));
        }
        let id = link::new_id(vendor)?;
        let mut handles = Vec::new();
        batch::start();
        for (rank, &device) in (0..count).zip(&devices) {
            match begin(vendor, [count, rank], id, device, true) {
                Ok((handle, _)) => handles.push(handle),
                Err(failure) => batch::spoil(&failure),
            }
        }
        let made = batch::end();
        if made.is_err() {
            handles.drain(..).for_each(|handle| drop(COMMUNICATORS.remove(handle)));
        }
        for (rank, handle) in handles.into_iter().enumerate() {
            // SAFETY: the caller promises that there is room for all of them.
            unsafe { communicators.add(rank).write(handle) };
        }
        made
    })
}

/// Makes a communicator of the ranks of each color.
///
/// # Safety
/// `part` is null or can be written; `config` is null or can be read.
pub unsafe fn split(
    vendor: &'static Vendor,
    communicator: *mut c_void,
    color: c_int,
    key: c_int,
    part: *mut *mut c_void,
    config: *const Config,
) -> Status {
    run(|| {
        let parent = get(communicator)?;
        // SAFETY: the caller promises that both are null or valid.
        let is_blocking = unsafe {
            put(part, std::ptr::null_mut(), "the new communicator")?;
            blocks(config, parent.is_blocking)?
        };
        if color < NO_COLOR {
            return Err(Failure::argument(format!("{color} is no color: they begin at 0")));
        }
        parent.ready()?;
        let (color, number) = ((color != NO_COLOR).then_some(color), parent.next_split());
        let child = Communicator::new(vendor, parent.device, is_blocking);
        // A rank without a color has a part in the call, but no communicator.
        let handle = COMMUNICATORS.insert(child);
        let child = get(handle)?;
        if color.is_none() {
            COMMUNICATORS.remove(handle);
        }
        let me = child.clone();
        let made = batch::call(child, move || {
            let Place { link, seat, .. } = parent.place()?;
            let packet = link.call(Request::Split { seat: *seat, number, color, key })?;
            if let [group, rank, ranks] = packet.numbers[..] {
                let seat = Seat { group: group as usize, rank: rank as usize };
                me.settle(Place { link: link.clone(), seat, ranks: ranks as usize });
            }
            Ok(())
        });
        match made {
            Ok(status) if color.is_some() => {
                // SAFETY: the caller promises that it can be written.
                unsafe { put(part, handle, "the new communicator") }?;
                Ok(status)
            }
            Ok(status) => Ok(status),
            Err(failure) => {
                COMMUNICATORS.remove(handle);
                Err(failure)
            }
        }
    })
}

/// Waits until everything that a communicator was asked for is done.
pub fn finalize(communicator: *mut c_void) -> Status {
    run(|| {
        let communicator = get(communicator)?;
        communicator.ready()?;
        let me = communicator.clone();
        if me.is_blocking {
            me.finalize();
            return Ok(SUCCESS);
        }
        me.finalize_aside();
        Ok(IN_PROGRESS)
    })
}

/// Destroys a communicator when everything that it was asked for is done.
pub fn destroy(communicator: *mut c_void) -> Status {
    run(|| {
        let Some(communicator) = COMMUNICATORS.remove(communicator) else { return get(communicator).map(|_| SUCCESS) };
        communicator.finish();
        // What has become of the others is no failure of the end.
        let _ = communicator.leave(true);
        Ok(SUCCESS)
    })
}

/// Destroys a communicator and ends what it has in progress. The other ranks cannot go on.
pub fn abort(communicator: *mut c_void) -> Status {
    run(|| {
        let Some(communicator) = COMMUNICATORS.remove(communicator) else { return get(communicator).map(|_| SUCCESS) };
        // What has become of the others is no failure of the end.
        let _ = communicator.leave(false);
        Ok(SUCCESS)
    })
}

/// Writes what has become of a communicator.
///
/// # Safety
/// `error` is null or can be written.
pub unsafe fn asynchronous_error(communicator: *mut c_void, error: *mut Status) -> Status {
    run(|| {
        let found = get(communicator)?.asynchronous_error();
        let status = found.unwrap_or_else(|failure| {
            status::keep(&failure);
            failure.status
        });
        // SAFETY: the caller promises that it is null or can be written.
        unsafe { put(error, status, "the error") }.map(|()| SUCCESS)
    })
}

/// What a communicator knows about itself.
#[derive(Debug, Clone, Copy)]
pub enum Fact {
    /// The number of ranks.
    Count,
    /// The device.
    Device,
    /// The rank.
    Rank,
}

/// Writes a fact about a communicator.
///
/// # Safety
/// `to` is null or can be written.
pub unsafe fn fact(communicator: *mut c_void, fact: Fact, to: *mut c_int) -> Status {
    run(|| {
        let communicator = get(communicator)?;
        let place = communicator.place()?;
        let value = match fact {
            Fact::Count => place.ranks as c_int,
            Fact::Device => communicator.device,
            Fact::Rank => place.seat.rank as c_int,
        };
        // SAFETY: the caller promises that it is null or can be written.
        unsafe { put(to, value, "the number") }.map(|()| SUCCESS)
    })
}

/// Returns the text of a status.
pub fn error_string(status: Status) -> *const c_char {
    status::text(status).as_ptr()
}

/// Returns a text about the last failure of the thread.
pub fn last_error() -> *const c_char {
    status::last()
}

/// Opens a group of calls.
pub fn group_start() -> Status {
    batch::start();
    SUCCESS
}

/// Closes a group of calls.
pub fn group_end() -> Status {
    guarded(INTERNAL_ERROR, || status::settle(batch::end()))
}

fn data_type(number: c_int) -> Result<DataType, Failure> {
    DataType::of(number).ok_or_else(|| Failure::argument(format!("{number} is no data type")))
}

fn too_large(count: usize) -> Failure {
    Failure::argument(format!("{count} elements of every rank have no number of bytes"))
}

/// A collective with the numbers of the interface.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The memory that is sent.
    pub send: *const c_void,
    /// The memory that is received.
    pub receive: *mut c_void,
    /// The number of elements.
    pub count: usize,
    /// The type of the elements.
    pub data_type: c_int,
    /// How they are combined.
    pub op: c_int,
    /// The rank that has the result or the source.
    pub root: c_int,
}

/// Enqueues a collective.
pub fn collective(kind: Kind, asked: Asked, communicator: *mut c_void, stream: *mut c_void) -> Status {
    run(|| {
        let communicator = get(communicator)?;
        let (ranks, ty) = (communicator.ready()?.ranks, data_type(asked.data_type)?);
        let op = Op::of(asked.op).ok_or_else(|| Failure::argument(format!("{} is no operation", asked.op)))?;
        let root = usize::try_from(asked.root).ok().filter(|&root| root < ranks);
        let root = root.ok_or_else(|| Failure::argument(format!("there is no rank {} of {ranks}", asked.root)))?;
        let call = Call { kind, count: asked.count, ty, op, root };
        if !call.fits(ranks) {
            return Err(too_large(asked.count));
        }
        let (send, receive) = (asked.send.expose_provenance(), asked.receive.expose_provenance());
        batch::work(communicator, stream, Work::Meet { call, send, receive })
    })
}

/// Enqueues a message.
fn message(
    direction: Direction,
    at: usize,
    [count, number]: [usize; 2],
    peer: c_int,
    communicator: *mut c_void,
    stream: *mut c_void,
) -> Status {
    run(|| {
        let communicator = get(communicator)?;
        let (ranks, ty) = (communicator.ready()?.ranks, data_type(number as c_int)?);
        let found = usize::try_from(peer).ok().filter(|&peer| peer < ranks);
        let peer = found.ok_or_else(|| Failure::argument(format!("there is no rank {peer} of {ranks}")))?;
        let bytes = count.checked_mul(ty.bytes()).filter(|&bytes| isize::try_from(bytes).is_ok());
        bytes.ok_or_else(|| too_large(count))?;
        let transfer = Transfer { direction, peer, count, ty };
        batch::work(communicator, stream, Work::Exchange(vec![(transfer, at)]))
    })
}

/// Enqueues a message to a rank.
pub fn send(
    from: *const c_void,
    count: usize,
    data_type: c_int,
    peer: c_int,
    communicator: *mut c_void,
    stream: *mut c_void,
) -> Status {
    message(Direction::Send, from.expose_provenance(), [count, data_type as usize], peer, communicator, stream)
}

/// Enqueues a message from a rank.
pub fn receive(
    to: *mut c_void,
    count: usize,
    data_type: c_int,
    peer: c_int,
    communicator: *mut c_void,
    stream: *mut c_void,
) -> Status {
    message(Direction::Receive, to.expose_provenance(), [count, data_type as usize], peer, communicator, stream)
}

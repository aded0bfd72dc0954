//! The pools that memory in stream order comes from. A pool here keeps nothing: memory that is
//! given back is free at once.

use crate::Code;
use crate::error::{Error, Result, bail, call, put, read};
use crate::process::process;
use isobit_simgpu_core::memory::Allocation;
use isobit_simgpu_runtime_common::handles::{self, Handle, Table};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    device: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How memory may be used again (`CU_MEMPOOL_ATTR_REUSE_*`), which it is not: wishes.
    reuse: [u64; 3],
    /// Bytes that the pool may keep, a wish too.
    threshold: u64,
    used: u64,
    most_used: u64,
}

/// The pools of the process.
#[derive(Debug)]
pub(crate) struct Pools {
    pools: Table<Pool>,
    /// Of each card, its default pool and the one that is used now.
    of_devices: Mutex<Vec<(u64, u64)>>,
    /// The pool that memory came from, by address.
    owners: Mutex<HashMap<u64, (u64, Arc<Pool>)>>,
}

impl Pool {
    fn new(device: usize) -> Arc<Self> {
        let state = State { reuse: [1; 3], threshold: 0, used: 0, most_used: 0 };
        Arc::new(Self { device, state: Mutex::new(state) })
    }
}

impl Pools {
    pub(crate) fn new(devices: usize) -> Self {
        let pools = Table::new(handles::Kind::Pool);
        let of_device = |device| pools.add(Pool::new(device)) as u64;
        let of_devices = (0..devices).map(of_device).map(|pool| (pool, pool)).collect();
        Self { pools, of_devices: Mutex::new(of_devices), owners: Mutex::default() }
    }

    /// The pool that a handle names.
    pub(crate) fn get(&self, handle: Handle) -> Result<Arc<Pool>> {
        let unknown = || Error::new(Code::INVALID_VALUE, format!("{handle:p} is no pool"));
        self.pools.get(handle).ok_or_else(unknown)
    }

    /// The handle of the pool that memory of a card comes from now.
    pub(crate) fn current(&self, device: usize) -> Handle {
        self.of_devices.lock()[device].1 as Handle
    }

    /// Memory came from a pool.
    pub(crate) fn came(&self, base: u64, bytes: usize, handle: Handle, pool: Arc<Pool>) {
        let mut state = pool.state.lock();
        state.used += bytes as u64;
        state.most_used = state.most_used.max(state.used);
        drop(state);
        self.owners.lock().insert(base, (handle as u64, pool));
    }

    /// The handle of the pool that memory came from; null for other memory.
    pub(crate) fn of(&self, address: u64) -> Handle {
        self.owners.lock().get(&address).map_or(std::ptr::null_mut(), |owner| owner.0 as Handle)
    }

    /// Memory goes: if it is of a pool, the pool has less.
    pub(crate) fn left(&self, gone: &Allocation) {
        if let Some((_, pool)) = self.owners.lock().remove(&gone.base) {
            pool.state.lock().used -= gone.bytes;
        }
    }
}

/// `CUmemLocation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Location {
    /// `CU_MEM_LOCATION_TYPE_DEVICE` is 1.
    pub kind: c_int,
    /// Which one.
    pub id: c_int,
}

/// `CUmemPoolProps`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PoolProps {
    /// `CU_MEM_ALLOCATION_TYPE_PINNED` is 1.
    pub kind: c_int,
    /// How memory is handed to other processes: 0, not at all.
    pub handles: c_int,
    /// Where the memory is.
    pub location: Location,
    /// Null.
    pub security: *mut c_void,
    /// Bytes of the pool at most; 0 is as many as there are.
    pub most: usize,
    /// What the memory is for.
    pub usage: u16,
    /// Zero.
    pub reserved: [u8; 54],
}

/// A new pool of a card's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolCreate(to: *mut Handle, props: *const PoolProps) -> Code {
    call("cuMemPoolCreate", || {
        let process = process()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let props = unsafe { read(props, "the properties") }?;
        if to.is_null() || props.kind != 1 || props.location.kind != 1 {
            bail!(INVALID_VALUE, "the pointer to the pool is null, or it is not to be memory of a device");
        }
        if props.handles != 0 {
            bail!(NOT_SUPPORTED, "memory for other processes");
        }
        let device = process.device(props.location.id)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, process.pools.pools.add(Pool::new(device)), "the pool") }
    })
}

/// Destroys a pool; memory that came from it stays until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolDestroy(handle: Handle) -> Code {
    call("cuMemPoolDestroy", || {
        let pools = &process()?.pools;
        let pool = pools.get(handle)?;
        let of_device = &mut pools.of_devices.lock()[pool.device];
        if of_device.0 == handle as u64 {
            bail!(INVALID_VALUE, "the default pool of a card stays");
        }
        if of_device.1 == handle as u64 {
            of_device.1 = of_device.0;
        }
        pools.pools.remove(handle);
        Ok(())
    })
}

/// Gives memory back that a pool keeps, which is none.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolTrimTo(handle: Handle, _keep: usize) -> Code {
    call("cuMemPoolTrimTo", || process()?.pools.get(handle).map(drop))
}

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD` and those behind it: memory that is reserved now and at
/// most, that is used now and at most.
const THRESHOLD: c_int = 4;
const RESERVED: c_int = 5;
const RESERVED_HIGH: c_int = 6;
const USED: c_int = 7;
const USED_HIGH: c_int = 8;

/// An attribute of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAttribute(handle: Handle, attribute: c_int, to: *mut c_void) -> Code {
    call("cuMemPoolGetAttribute", || {
        let pool = process()?.pools.get(handle)?;
        let state = pool.state.lock();
        let value = match attribute {
            // SAFETY: as the caller promises; these three are of 32 bits.
            1..=3 => return unsafe { put(to.cast(), state.reuse[attribute as usize - 1] as c_int, "the value") },
            THRESHOLD => state.threshold,
            RESERVED | USED => state.used,
            RESERVED_HIGH | USED_HIGH => state.most_used,
            _ => bail!(INVALID_VALUE, "{attribute} is no attribute of pools"),
        };
        // SAFETY: as the caller promises; these are of 64 bits.
        unsafe { put(to.cast(), value, "the value") }
    })
}

/// Sets an attribute of a pool. Those for the most memory there was can be set to 0 alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAttribute(handle: Handle, attribute: c_int, value: *const c_void) -> Code {
    call("cuMemPoolSetAttribute", || {
        let pool = process()?.pools.get(handle)?;
        let mut state = pool.state.lock();
        // SAFETY: as the caller promises; these are of 64 bits.
        let wide = || unsafe { read(value.cast::<u64>(), "the value") };
        match attribute {
            1..=3 => {
                // SAFETY: as the caller promises; these three are of 32 bits.
                state.reuse[attribute as usize - 1] = unsafe { read(value.cast::<u32>(), "the value") }?.min(1).into();
            }
            THRESHOLD => state.threshold = wide()?,
            RESERVED_HIGH | USED_HIGH if wide()? == 0 => state.most_used = state.used,
            _ => bail!(INVALID_VALUE, "{attribute} is no attribute of pools that can be set so"),
        }
        Ok(())
    })
}

/// `CUmemAccessDesc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Access {
    /// Who may access the memory.
    pub location: Location,
    /// 0 nobody, 1 for reading, 3 for reading and writing.
    pub flags: c_int,
}

/// Lets cards access the memory of a pool, which all may.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAccess(handle: Handle, list: *const Access, count: usize) -> Code {
    call("cuMemPoolSetAccess", || {
        let process = process()?;
        let pool = process.pools.get(handle)?;
        for index in 0..count {
            // SAFETY: as the caller promises; a null list has no elements to add to.
            let Access { location, flags } = unsafe { read(list.wrapping_add(index), "the list") }?;
            let own = process.device(location.id)? == pool.device;
            if location.kind != 1 || !matches!(flags, 0 | 1 | 3) || (own && flags != 3) {
                bail!(INVALID_VALUE, "access {flags} of {location:?}");
            }
        }
        Ok(())
    })
}

/// How a card may access the memory of a pool: for reading and writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAccess(to: *mut c_int, handle: Handle, location: *const Location) -> Code {
    call("cuMemPoolGetAccess", || {
        let process = process()?;
        process.pools.get(handle)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        process.device(unsafe { read(location, "the location") }?.id)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, 3, "the access") }
    })
}

fn put_pool(to: *mut Handle, device: c_int, which: impl FnOnce((u64, u64)) -> u64) -> Result {
    let process = process()?;
    let pools = process.pools.of_devices.lock()[process.device(device)?];
    // SAFETY: the caller of CUDA promises room for a handle.
    unsafe { put(to, which(pools) as Handle, "the pool") }
}

/// The default pool of a card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetDefaultMemPool(to: *mut Handle, device: c_int) -> Code {
    call("cuDeviceGetDefaultMemPool", || put_pool(to, device, |pools| pools.0))
}

/// The pool that memory of a card comes from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetMemPool(to: *mut Handle, device: c_int) -> Code {
    call("cuDeviceGetMemPool", || put_pool(to, device, |pools| pools.1))
}

/// Sets the pool that memory of a card comes from.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceSetMemPool(device: c_int, handle: Handle) -> Code {
    call("cuDeviceSetMemPool", || {
        let process = process()?;
        let device = process.device(device)?;
        if process.pools.get(handle)?.device != device {
            bail!(INVALID_VALUE, "the pool is of another card");
        }
        process.pools.of_devices.lock()[device].1 = handle as u64;
        Ok(())
    })
}

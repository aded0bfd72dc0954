//! Memory pools for stream-ordered allocation. Pools cache nothing here: freed memory returns to
//! the device at once.

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
    /// The reuse policies (`CU_MEMPOOL_ATTR_REUSE_*`). They are hints: memory is never reused.
    reuse: [u64; 3],
    /// The bytes that the pool may keep, which is also a hint.
    threshold: u64,
    used: u64,
    most_used: u64,
}

/// The pools of the process.
#[derive(Debug)]
pub(crate) struct Pools {
    pools: Table<Pool>,
    /// The default pool and the current pool of each device.
    of_devices: Mutex<Vec<(u64, u64)>>,
    /// The pool that an allocation came from, by address.
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

    /// Returns the pool that a handle names.
    pub(crate) fn get(&self, handle: Handle) -> Result<Arc<Pool>> {
        let unknown = || Error::new(Code::INVALID_VALUE, format!("{handle:p} is not a pool"));
        self.pools.get(handle).ok_or_else(unknown)
    }

    /// Returns the handle of the current pool of a device.
    pub(crate) fn current(&self, device: usize) -> Handle {
        self.of_devices.lock()[device].1 as Handle
    }

    /// Records that memory was allocated from a pool.
    pub(crate) fn came(&self, base: u64, bytes: usize, handle: Handle, pool: Arc<Pool>) {
        let mut state = pool.state.lock();
        state.used += bytes as u64;
        state.most_used = state.most_used.max(state.used);
        drop(state);
        self.owners.lock().insert(base, (handle as u64, pool));
    }

    /// Returns the handle of the pool that memory came from; null for other memory.
    pub(crate) fn of(&self, address: u64) -> Handle {
        self.owners.lock().get(&address).map_or(std::ptr::null_mut(), |owner| owner.0 as Handle)
    }

    /// Records that memory was freed: if it came from a pool, reduces the pool's usage.
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
    /// The device ordinal.
    pub id: c_int,
}

/// `CUmemPoolProps`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PoolProps {
    /// `CU_MEM_ALLOCATION_TYPE_PINNED` is 1.
    pub kind: c_int,
    /// The handle type for sharing with other processes: 0, none.
    pub handles: c_int,
    /// Where the memory is.
    pub location: Location,
    /// Must be null.
    pub security: *mut c_void,
    /// Maximum bytes in the pool; 0 means no limit.
    pub most: usize,
    /// The intended usage of the memory.
    pub usage: u16,
    /// Must be zero.
    pub reserved: [u8; 54],
}

/// Creates a pool on a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolCreate(to: *mut Handle, props: *const PoolProps) -> Code {
    call("cuMemPoolCreate", || {
        let process = process()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let props = unsafe { read(props, "the properties") }?;
        if to.is_null() || props.kind != 1 || props.location.kind != 1 {
            bail!(INVALID_VALUE, "the pointer to the pool is null, or the memory type or location is not a device's");
        }
        if props.handles != 0 {
            bail!(NOT_SUPPORTED, "memory sharing between processes is not supported");
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
            bail!(INVALID_VALUE, "the default pool of a device cannot be destroyed");
        }
        if of_device.1 == handle as u64 {
            of_device.1 = of_device.0;
        }
        pools.pools.remove(handle);
        Ok(())
    })
}

/// Releases memory that a pool caches; pools cache nothing here.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolTrimTo(handle: Handle, _keep: usize) -> Code {
    call("cuMemPoolTrimTo", || process()?.pools.get(handle).map(drop))
}

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, and the attributes after it: reserved memory now and at its
/// peak, used memory now and at its peak.
const THRESHOLD: c_int = 4;
const RESERVED: c_int = 5;
const RESERVED_HIGH: c_int = 6;
const USED: c_int = 7;
const USED_HIGH: c_int = 8;

/// Returns a pool attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAttribute(handle: Handle, attribute: c_int, to: *mut c_void) -> Code {
    call("cuMemPoolGetAttribute", || {
        let pool = process()?.pools.get(handle)?;
        let state = pool.state.lock();
        let value = match attribute {
            // SAFETY: as the caller promises; these three attributes are 32 bits wide.
            1..=3 => return unsafe { put(to.cast(), state.reuse[attribute as usize - 1] as c_int, "the value") },
            THRESHOLD => state.threshold,
            RESERVED | USED => state.used,
            RESERVED_HIGH | USED_HIGH => state.most_used,
            _ => bail!(INVALID_VALUE, "{attribute} is not a pool attribute"),
        };
        // SAFETY: as the caller promises; these attributes are 64 bits wide.
        unsafe { put(to.cast(), value, "the value") }
    })
}

/// Sets a pool attribute. The peak values can only be reset to 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAttribute(handle: Handle, attribute: c_int, value: *const c_void) -> Code {
    call("cuMemPoolSetAttribute", || {
        let pool = process()?.pools.get(handle)?;
        let mut state = pool.state.lock();
        // SAFETY: as the caller promises; these attributes are 64 bits wide.
        let wide = || unsafe { read(value.cast::<u64>(), "the value") };
        match attribute {
            1..=3 => {
                // SAFETY: as the caller promises; these three attributes are 32 bits wide.
                state.reuse[attribute as usize - 1] = unsafe { read(value.cast::<u32>(), "the value") }?.min(1).into();
            }
            THRESHOLD => state.threshold = wide()?,
            RESERVED_HIGH | USED_HIGH if wide()? == 0 => state.most_used = state.used,
            _ => bail!(INVALID_VALUE, "pool attribute {attribute} does not exist or cannot be set to this value"),
        }
        Ok(())
    })
}

/// `CUmemAccessDesc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Access {
    /// The device that may access the memory.
    pub location: Location,
    /// 0 no access, 1 read, 3 read and write.
    pub flags: c_int,
}

/// Lets devices access the memory of a pool; all devices already can.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAccess(handle: Handle, list: *const Access, count: usize) -> Code {
    call("cuMemPoolSetAccess", || {
        let process = process()?;
        let pool = process.pools.get(handle)?;
        for index in 0..count {
            // SAFETY: as the caller promises; if the list is null, `read` rejects its first
            // element.
            let Access { location, flags } = unsafe { read(list.wrapping_add(index), "the list") }?;
            let own = process.device(location.id)? == pool.device;
            if location.kind != 1 || !matches!(flags, 0 | 1 | 3) || (own && flags != 3) {
                bail!(INVALID_VALUE, "invalid access {flags} of {location:?}");
            }
        }
        Ok(())
    })
}

/// Returns how a device may access the memory of a pool: read and write.
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

/// Returns the default pool of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetDefaultMemPool(to: *mut Handle, device: c_int) -> Code {
    call("cuDeviceGetDefaultMemPool", || put_pool(to, device, |pools| pools.0))
}

/// Returns the current pool of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetMemPool(to: *mut Handle, device: c_int) -> Code {
    call("cuDeviceGetMemPool", || put_pool(to, device, |pools| pools.1))
}

/// Sets the current pool of a device.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceSetMemPool(device: c_int, handle: Handle) -> Code {
    call("cuDeviceSetMemPool", || {
        let process = process()?;
        let device = process.device(device)?;
        if process.pools.get(handle)?.device != device {
            bail!(INVALID_VALUE, "the pool belongs to another device");
        }
        process.pools.of_devices.lock()[device].1 = handle as u64;
        Ok(())
    })
}

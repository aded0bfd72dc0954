//! Pointer attributes.

use crate::Code;
use crate::error::{Error, Result, bail, call, put, read};
use crate::managed::MANAGED;
use crate::memory::Address;
use crate::process::{Made, Process, process};
use isobit_simgpu_core::memory::{Allocation, Kind};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

/// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`, the only one that can be set.
const SYNC_MEMOPS: c_int = 6;
/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
const DEVICE: c_int = 9;

/// An attribute value with its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Small(c_int),
    Wide(u64),
}

impl Value {
    /// # Safety
    /// `to` is null or has room for a value of this size.
    unsafe fn put(self, to: *mut c_void) -> Result {
        // SAFETY: the caller promises that `to` is null or has room for a value of this size.
        unsafe {
            match self {
                Self::Small(value) => put(to.cast(), value, "the value"),
                Self::Wide(value) => put(to.cast(), value, "the value"),
            }
        }
    }

    /// Returns the value of an attribute for unknown memory; `None` if the number is not an
    /// attribute.
    fn of_unknown(attribute: c_int) -> Option<Self> {
        Some(match attribute {
            DEVICE => Self::Small(-2),
            2 | SYNC_MEMOPS | 8 | 10 | 13 | 15 | 16 | 21 => Self::Small(0),
            1 | 3 | 4 | 7 | 11 | 12 | 14 | 17..=20 => Self::Wide(0),
            _ => return None,
        })
    }
}

/// Known memory.
struct Known {
    allocation: Arc<Allocation>,
    made: Option<Made>,
}

impl Known {
    fn at(process: &Process, address: Address) -> Option<Self> {
        let allocation = process.machine.memory.find(address)?;
        let made = process.origin(allocation.base);
        Some(Self { allocation, made })
    }

    /// Returns an attribute, by `CUpointer_attribute`.
    fn attribute(&self, process: &Process, attribute: c_int, address: Address) -> Option<Value> {
        let Self { allocation, made } = self;
        let managed = made.as_ref().is_some_and(|made| made.flags & MANAGED != 0);
        let host = allocation.kind == Kind::Pinned && !managed;
        let pool = process.pools.of(allocation.base);
        let context = || {
            let id = made.as_ref().filter(|_| pool.is_null())?.context.id;
            process.contexts.find(|slot| slot.get().is_some_and(|live| live.id == id))
        };
        Some(match attribute {
            1 => Value::Wide(context().map_or(0, |handle| handle as u64)),
            // On the host, or on a device.
            2 => Value::Small(if host { 1 } else { 2 }),
            3 => Value::Wide(address),
            4 if allocation.kind == Kind::Pinned => Value::Wide(address),
            SYNC_MEMOPS => Value::Small(c_int::from(!host)),
            7 | 20 => Value::Wide(allocation.number),
            8 => Value::Small(managed.into()),
            DEVICE => Value::Small(made.as_ref().map_or(0, |made| made.context.device as c_int)),
            // The memory cannot be shared with other processes or with devices other than GPUs.
            10 | 15 | 21 => Value::Small(0),
            14 => Value::Wide(0),
            11 | 19 => Value::Wide(allocation.base),
            12 | 18 => Value::Wide(allocation.bytes),
            13 => Value::Small(1),
            // Access flags: read and write.
            16 => Value::Small(3),
            17 => Value::Wide(pool as u64),
            _ => return None,
        })
    }
}

/// Returns an attribute of an address, which must be known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttribute(to: *mut c_void, attribute: c_int, address: Address) -> Code {
    call("cuPointerGetAttribute", || {
        let process = process()?;
        let unknown = || Error::new(Code::INVALID_VALUE, format!("no allocation holds {address:#x}"));
        let known = Known::at(process, address).ok_or_else(unknown)?;
        let Some(value) = known.attribute(process, attribute, address) else {
            bail!(INVALID_VALUE, "{attribute} is not an attribute of {address:#x}, which lies in {}", known.allocation);
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { value.put(to) }
    })
}

/// Returns several attributes of an address; an attribute that the address does not have is zero or
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    attributes: *const c_int,
    to: *mut *mut c_void,
    address: Address,
) -> Code {
    call("cuPointerGetAttributes", || {
        let process = process()?;
        if attributes.is_null() || to.is_null() {
            bail!(INVALID_VALUE, "the list of attributes or of their values is null");
        }
        let known = Known::at(process, address);
        for index in 0..count as usize {
            // SAFETY: as the caller promises: the arrays hold `count` attributes and places.
            let (attribute, to) = unsafe { (read(attributes.add(index), "it")?, read(to.add(index), "it")?) };
            let value = known.as_ref().and_then(|known| known.attribute(process, attribute, address));
            let Some(value) = value.or_else(|| Value::of_unknown(attribute)) else {
                bail!(INVALID_VALUE, "{attribute} is not a pointer attribute");
            };
            // SAFETY: as above.
            unsafe { value.put(to) }?;
        }
        Ok(())
    })
}

/// Sets an attribute of an address: that calls which copy its memory are synchronous. They always
/// are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerSetAttribute(value: *const c_void, attribute: c_int, address: Address) -> Code {
    call("cuPointerSetAttribute", || {
        let machine = &process()?.machine;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { read(value.cast::<c_uint>(), "the value") }?;
        let found = machine.find(address, Code::INVALID_VALUE)?;
        if attribute != SYNC_MEMOPS || found.kind != Kind::Device {
            bail!(INVALID_VALUE, "attribute {attribute} of {found} cannot be set");
        }
        Ok(())
    })
}

//! Two- and three-dimensional copies, as CUDA describes them, and copies between contexts.

use crate::Code;
use crate::copy::{NULL, enqueue};
use crate::error::{Error, Result, bail, call, read};
use crate::memory::Address;
use crate::process::process;
use isobit_simgpu_runtime_common::copy::{Copy as Rows, End, When};
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_uint, c_void};

/// `CU_MEMORYTYPE_HOST`, `DEVICE`, `UNIFIED`; `ARRAY` (3) is not supported.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;
const UNIFIED: c_uint = 4;

/// One of the two ends of a copy in `CUDA_MEMCPY3D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Place {
    /// Offset in bytes within a row.
    pub x: usize,
    /// Rows to skip.
    pub y: usize,
    /// Layers to skip.
    pub z: usize,
    /// The mipmap level of an array.
    pub level: usize,
    /// Where the memory is: `CUmemorytype`.
    pub kind: c_uint,
    /// The address if the memory is on the host.
    pub host: *mut c_void,
    /// The address if the memory is not on the host.
    pub device: Address,
    /// An array handle.
    pub array: Handle,
    /// Must be null.
    pub reserved: *mut c_void,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Rows from one layer to the next.
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Memcpy3D {
    /// The source.
    pub from: Place,
    /// The destination.
    pub to: Place,
    /// Bytes per row.
    pub width: usize,
    /// Rows per layer.
    pub height: usize,
    /// Number of layers.
    pub depth: usize,
}

/// One of the two ends of a copy in `CUDA_MEMCPY2D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Place2D {
    /// Offset in bytes within a row.
    pub x: usize,
    /// Rows to skip.
    pub y: usize,
    /// Where the memory is: `CUmemorytype`.
    pub kind: c_uint,
    /// The address if the memory is on the host.
    pub host: *mut c_void,
    /// The address if the memory is not on the host.
    pub device: Address,
    /// An array handle.
    pub array: Handle,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Memcpy2D {
    /// The source.
    pub from: Place2D,
    /// The destination.
    pub to: Place2D,
    /// Bytes per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
}

impl Place2D {
    fn in_space(self) -> Place {
        let Self { x, y, kind, host, device, array, pitch } = self;
        Place { x, y, z: 0, level: 0, kind, host, device, array, reserved: std::ptr::null_mut(), pitch, height: 0 }
    }
}

impl Memcpy3D {
    fn end(&self, place: &Place) -> Result<End> {
        let base = match place.kind {
            HOST => place.host as u64,
            DEVICE | UNIFIED => place.device,
            _ => bail!(NOT_SUPPORTED, "memory of kind {}: arrays are not supported", place.kind),
        };
        let (row, pitch) = (place.x.saturating_add(self.width), place.pitch);
        let many = self.height > 1 || self.depth > 1 || place.y > 0 || place.z > 0;
        if many && pitch < row {
            bail!(INVALID_VALUE, "rows of {row} bytes with a pitch of {pitch} bytes");
        }
        let rows = place.y.saturating_add(self.height);
        if (self.depth > 1 || place.z > 0) && place.height < rows {
            bail!(INVALID_VALUE, "layers of {rows} rows with a height of {} rows", place.height);
        }
        let address = || {
            let layer = pitch.checked_mul(place.height)?;
            let skipped = place.z.checked_mul(layer)?.checked_add(place.y.checked_mul(pitch)?)?.checked_add(place.x)?;
            Some((base.checked_add(skipped as u64)?, layer))
        };
        let beyond =
            || Error::new(Code::INVALID_VALUE, format!("an offset from {base:#x} that exceeds the address space"));
        let (address, layer) = address().ok_or_else(beyond)?;
        // A null pointer stays null, whatever the offset of the copy.
        let address = if base == 0 { 0 } else { address };
        Ok(End { address, pitch, layer, device: place.kind == DEVICE })
    }

    /// Converts the description to a copy.
    pub(crate) fn copy(&self) -> Result<Rows> {
        let (to, from) = (self.end(&self.to)?, self.end(&self.from)?);
        Ok(Rows { to, from, width: self.width, rows: self.height, layers: self.depth })
    }

    /// Converts a copy to CUDA's description.
    pub(crate) fn of(copy: &Rows) -> Self {
        let place = |end: &End| Place {
            x: 0,
            y: 0,
            z: 0,
            level: 0,
            kind: if end.device { DEVICE } else { UNIFIED },
            host: std::ptr::null_mut(),
            device: end.address,
            array: std::ptr::null_mut(),
            reserved: std::ptr::null_mut(),
            pitch: end.pitch,
            height: end.layer.checked_div(end.pitch).unwrap_or(0),
        };
        let (from, to) = (place(&copy.from), place(&copy.to));
        Self { from, to, width: copy.width, height: copy.rows, depth: copy.layers }
    }
}

/// # Safety
/// `description` is null or readable.
unsafe fn two_dimensions(description: *const Memcpy2D, stream: Handle, when: When) -> Result {
    // SAFETY: the caller promises that `description` is null or readable.
    let Memcpy2D { from, to, width, height } = unsafe { read(description, "the copy") }?;
    let copy = Memcpy3D { from: from.in_space(), to: to.in_space(), width, height, depth: 1 };
    enqueue(copy.copy()?, stream, when)
}

/// # Safety
/// `description` is null or readable.
unsafe fn three_dimensions(description: *const Memcpy3D, stream: Handle, when: When) -> Result {
    // SAFETY: the caller promises that `description` is null or readable.
    enqueue(unsafe { read(description, "the copy") }?.copy()?, stream, when)
}

/// Copies a two-dimensional region.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2D_v2(copy: *const Memcpy2D) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy2D_v2", || unsafe { two_dimensions(copy, NULL, When::Made) })
}

/// Like [`cuMemcpy2D_v2`], with any pitch; here [`cuMemcpy2D_v2`] accepts any pitch too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DUnaligned_v2(copy: *const Memcpy2D) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy2DUnaligned_v2", || unsafe { two_dimensions(copy, NULL, When::Made) })
}

/// Copies a two-dimensional region in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DAsync_v2(copy: *const Memcpy2D, stream: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy2DAsync_v2", || unsafe { two_dimensions(copy, stream, When::Enqueued) })
}

/// Copies a three-dimensional region.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy3D_v2(copy: *const Memcpy3D) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy3D_v2", || unsafe { three_dimensions(copy, NULL, When::Made) })
}

/// Copies a three-dimensional region in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy3DAsync_v2(copy: *const Memcpy3D, stream: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy3DAsync_v2", || unsafe { three_dimensions(copy, stream, When::Enqueued) })
}

fn peer(to: (Address, Handle), from: (Address, Handle), bytes: usize, stream: Handle, when: When) -> Result {
    for context in [to.1, from.1] {
        crate::context::slot(process()?, context)?.context()?.check()?;
    }
    enqueue(Rows::of_bytes(to.0, true, from.0, true, bytes), stream, when)
}

/// Copies memory from one context to another.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeer(
    to: Address,
    to_context: Handle,
    from: Address,
    from_context: Handle,
    bytes: usize,
) -> Code {
    call("cuMemcpyPeer", || peer((to, to_context), (from, from_context), bytes, NULL, When::Made))
}

/// Copies memory from one context to another in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeerAsync(
    to: Address,
    to_context: Handle,
    from: Address,
    from_context: Handle,
    bytes: usize,
    stream: Handle,
) -> Code {
    call("cuMemcpyPeerAsync", || peer((to, to_context), (from, from_context), bytes, stream, When::Enqueued))
}

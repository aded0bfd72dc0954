//! Copies of rows and layers, as CUDA describes them, and copies between contexts.

use crate::Code;
use crate::copy::{NULL, enqueue};
use crate::error::{Error, Result, bail, call, read};
use crate::memory::Address;
use crate::process::process;
use isobit_simgpu_runtime_common::copy::{Copy as Rows, End, When};
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_uint, c_void};

/// `CU_MEMORYTYPE_HOST`, `DEVICE`, `UNIFIED`; `ARRAY` (3) is not offered.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;
const UNIFIED: c_uint = 4;

/// An end of a copy, as `CUDA_MEMCPY3D` has two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Place {
    /// Bytes to the first of a row.
    pub x: usize,
    /// Rows before the first.
    pub y: usize,
    /// Layers before the first.
    pub z: usize,
    /// The level of detail of an array.
    pub level: usize,
    /// Where the memory is: `CUmemorytype`.
    pub kind: c_uint,
    /// The address, if that is on the host.
    pub host: *mut c_void,
    /// The address, if it is not.
    pub device: Address,
    /// An array.
    pub array: Handle,
    /// Null.
    pub reserved: *mut c_void,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// Rows from a layer to the next.
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Memcpy3D {
    /// Where bytes come from.
    pub from: Place,
    /// Where they go.
    pub to: Place,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a layer.
    pub height: usize,
    /// Layers.
    pub depth: usize,
}

/// An end of a copy, as `CUDA_MEMCPY2D` has two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Place2D {
    /// Bytes to the first of a row.
    pub x: usize,
    /// Rows before the first.
    pub y: usize,
    /// Where the memory is: `CUmemorytype`.
    pub kind: c_uint,
    /// The address, if that is on the host.
    pub host: *mut c_void,
    /// The address, if it is not.
    pub device: Address,
    /// An array.
    pub array: Handle,
    /// Bytes from a row to the next.
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Memcpy2D {
    /// Where bytes come from.
    pub from: Place2D,
    /// Where they go.
    pub to: Place2D,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
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
            _ => bail!(NOT_SUPPORTED, "memory of kind {}; arrays are not offered", place.kind),
        };
        let (row, pitch) = (place.x.saturating_add(self.width), place.pitch);
        let many = self.height > 1 || self.depth > 1 || place.y > 0 || place.z > 0;
        if many && pitch < row {
            bail!(INVALID_VALUE, "rows of {row} bytes, {pitch} bytes apart");
        }
        let rows = place.y.saturating_add(self.height);
        if (self.depth > 1 || place.z > 0) && place.height < rows {
            bail!(INVALID_VALUE, "layers of {rows} rows, {} rows apart", place.height);
        }
        let address = || {
            let layer = pitch.checked_mul(place.height)?;
            let skipped = place.z.checked_mul(layer)?.checked_add(place.y.checked_mul(pitch)?)?.checked_add(place.x)?;
            Some((base.checked_add(skipped as u64)?, layer))
        };
        let beyond = || Error::new(Code::INVALID_VALUE, format!("a place beyond all addresses from {base:#x}"));
        let (address, layer) = address().ok_or_else(beyond)?;
        // A null pointer stays one, wherever the copy starts from it.
        let address = if base == 0 { 0 } else { address };
        Ok(End { address, pitch, layer, device: place.kind == DEVICE })
    }

    /// The copy that is described.
    pub(crate) fn copy(&self) -> Result<Rows> {
        let (to, from) = (self.end(&self.to)?, self.end(&self.from)?);
        Ok(Rows { to, from, width: self.width, rows: self.height, layers: self.depth })
    }

    /// The description of a copy.
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
/// `description` is null or may be read.
unsafe fn two_dimensions(description: *const Memcpy2D, stream: Handle, when: When) -> Result {
    // SAFETY: the caller promises that `description` is null or may be read.
    let Memcpy2D { from, to, width, height } = unsafe { read(description, "the copy") }?;
    let copy = Memcpy3D { from: from.in_space(), to: to.in_space(), width, height, depth: 1 };
    enqueue(copy.copy()?, stream, when)
}

/// # Safety
/// `description` is null or may be read.
unsafe fn three_dimensions(description: *const Memcpy3D, stream: Handle, when: When) -> Result {
    // SAFETY: the caller promises that `description` is null or may be read.
    enqueue(unsafe { read(description, "the copy") }?.copy()?, stream, when)
}

/// Copies rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2D_v2(copy: *const Memcpy2D) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy2D_v2", || unsafe { two_dimensions(copy, NULL, When::Made) })
}

/// As [`cuMemcpy2D_v2`], for any pitch, which that takes here too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DUnaligned_v2(copy: *const Memcpy2D) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy2DUnaligned_v2", || unsafe { two_dimensions(copy, NULL, When::Made) })
}

/// Copies rows in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DAsync_v2(copy: *const Memcpy2D, stream: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy2DAsync_v2", || unsafe { two_dimensions(copy, stream, When::Enqueued) })
}

/// Copies layers of rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy3D_v2(copy: *const Memcpy3D) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemcpy3D_v2", || unsafe { three_dimensions(copy, NULL, When::Made) })
}

/// Copies layers of rows in stream order.
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

/// Copies from the memory of a context to that of another.
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

/// Copies from the memory of a context to that of another in stream order.
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

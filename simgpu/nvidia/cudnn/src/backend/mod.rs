//! Graphs: descriptors of tensors, of operations, of their graph, of the engines for the graph, and
//! of plans, which are executed with a pack of pointers. A descriptor must be finalized before
//! another one refers to it.

mod attribute;
mod composite;
mod engine;
mod graph;
mod heuristic;
mod matmul;
mod node;
mod object;
mod operation;
mod pack;
mod plan;
mod pointwise;
mod reduction;
mod tensor;
#[cfg(test)]
mod tests;
mod window;
mod work;

use crate::handle::stream_of;
use crate::status::{BAD_PARAM, NOT_INITIALIZED, NULL_POINTER, Status, answer, ensure, fail};
use attribute::{Room, Values};
use isobit_simgpu_library_common::{CUDA, injected};
use object::{LIVE, Object, object};
use std::ffi::{c_int, c_void};

/// Creates a descriptor of a kind.
///
/// # Safety
/// `descriptor` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnBackendCreateDescriptor(kind: c_int, descriptor: *mut *mut c_void) -> Status {
    injected!(CUDA, "cudnnBackendCreateDescriptor");
    answer(|| {
        ensure(!descriptor.is_null(), NULL_POINTER, || "the pointer to the descriptor is null".into())?;
        let object = Object::new(kind)?;
        // SAFETY: not null; the caller promises that `descriptor` is null or can be written.
        unsafe { descriptor.write(LIVE.insert(object)) };
        Ok(())
    })
}

/// Destroys a descriptor; others that refer to it keep what they need. A null descriptor is
/// ignored.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnBackendDestroyDescriptor(descriptor: *mut c_void) -> Status {
    injected!(CUDA, "cudnnBackendDestroyDescriptor");
    answer(|| {
        let known = descriptor.is_null() || LIVE.remove(descriptor).is_some();
        ensure(known, BAD_PARAM, || "the descriptor does not exist".into())
    })
}

/// Sets an attribute of a descriptor that is not finalized.
///
/// # Safety
/// `elements` is null or points to `count` elements of the C type of `attribute_type`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnBackendSetAttribute(
    descriptor: *mut c_void,
    name: c_int,
    attribute_type: c_int,
    count: i64,
    elements: *const c_void,
) -> Status {
    injected!(CUDA, "cudnnBackendSetAttribute");
    answer(|| {
        let object = object(descriptor)?;
        // SAFETY: the caller promises that `elements` is null or points to `count` elements of the
        // C type of `attribute_type`.
        let values = unsafe { Values::new(attribute_type, count, elements)? };
        object.change(|body| body.set(name, &values))
    })
}

/// Checks a descriptor and finalizes it.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnBackendFinalize(descriptor: *mut c_void) -> Status {
    injected!(CUDA, "cudnnBackendFinalize");
    answer(|| object(descriptor)?.finalize())
}

/// Reads an attribute of a finalized descriptor: writes the number of its elements, and the
/// elements that fit. For descriptors, the array must hold descriptors of the right kind that are
/// not finalized; the function turns them into the attribute's descriptors.
///
/// # Safety
/// `count` is null or can be written; `elements` is null or has room for `requested` elements of
/// the C type of `attribute_type`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnBackendGetAttribute(
    descriptor: *mut c_void,
    name: c_int,
    attribute_type: c_int,
    requested: i64,
    count: *mut i64,
    elements: *mut c_void,
) -> Status {
    injected!(CUDA, "cudnnBackendGetAttribute");
    answer(|| {
        let Some(body) = object(descriptor)?.body() else { return fail(NOT_INITIALIZED, "descriptor not finalized") };
        // SAFETY: the caller promises that `count` is null or can be written, and that `elements`
        // is null or has room for `requested` elements of the C type of `attribute_type`.
        let room = unsafe { Room::new(attribute_type, requested, count, elements)? };
        body.get(name, &room)
    })
}

/// Executes a plan on the handle's stream, with the pointers of a pack.
///
/// # Safety
/// The pack's pointers of tensors by value are null or point to a number of the tensor's type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnBackendExecute(
    handle: *mut c_void,
    execution_plan: *mut c_void,
    variant_pack: *mut c_void,
) -> Status {
    injected!(CUDA, "cudnnBackendExecute");
    answer(|| {
        let stream = stream_of(handle)?;
        // SAFETY: the caller promises the numbers behind pointers of tensors by value.
        unsafe { plan::execution(execution_plan, variant_pack)?.enqueue(stream) }
    })
}

//! cuDNN's backend descriptors: objects with attributes, which represent a graph, its heuristics
//! and its plans. <https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html>

use super::text_of;
use cudarc::cudnn::sys::{
    self, cudnnBackendAttributeName_t as Name, cudnnBackendAttributeType_t as Type,
    cudnnBackendDescriptorType_t as Kind, cudnnStatus_t as Status,
};
use std::ffi::c_void;

/// A descriptor, destroyed when dropped.
#[derive(Debug)]
pub(super) struct Descriptor(sys::cudnnBackendDescriptor_t);

/// Returns a human-readable error of a call, to follow cuDNN's name.
fn check(status: Status, doing: impl FnOnce() -> String) -> Result<(), String> {
    if status == Status::CUDNN_STATUS_SUCCESS { Ok(()) } else { Err(format!("fails {}: {}", doing(), text_of(status))) }
}

impl Descriptor {
    pub(super) fn new(kind: Kind) -> Result<Self, String> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::cudnnBackendCreateDescriptor(kind, &mut raw) }, || format!("creating {kind:?}"))?;
        Ok(Self(raw))
    }

    pub(super) fn raw(&self) -> sys::cudnnBackendDescriptor_t {
        self.0
    }

    /// Sets an attribute to elements of a type.
    ///
    /// # Safety
    /// `T` is the type that cuDNN's documentation specifies for `ty`.
    pub(super) unsafe fn set<T>(&self, name: Name, ty: Type, values: &[T]) -> Result<(), String> {
        let (count, values) = (values.len() as i64, values.as_ptr().cast::<c_void>());
        // SAFETY: the descriptor is alive, and the caller promises the type of the elements.
        let status = unsafe { sys::cudnnBackendSetAttribute(self.0, name, ty, count, values) };
        check(status, || format!("setting {name:?}"))
    }

    pub(super) fn set_ints(&self, name: Name, values: &[i64]) -> Result<(), String> {
        // SAFETY: the elements have this type.
        unsafe { self.set(name, Type::CUDNN_TYPE_INT64, values) }
    }

    pub(super) fn set_descriptor(&self, name: Name, value: &Descriptor) -> Result<(), String> {
        self.set_descriptors(name, std::slice::from_ref(value))
    }

    pub(super) fn set_descriptors(&self, name: Name, values: &[Descriptor]) -> Result<(), String> {
        let raw: Vec<_> = values.iter().map(|value| value.0).collect();
        // SAFETY: the elements have this type; they are alive, and cuDNN keeps them as long as
        // needed.
        unsafe { self.set(name, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, &raw) }
    }

    pub(super) fn finalize(&self) -> Result<(), String> {
        // SAFETY: the descriptor is alive.
        check(unsafe { sys::cudnnBackendFinalize(self.0) }, || "finalising a descriptor".into())
    }

    /// Reads an attribute into elements of a type. Returns the number of available elements, which
    /// may be larger.
    ///
    /// # Safety
    /// Same as [`set`](Self::set). In addition, any bytes are valid values of `T`, or the elements
    /// are initialised and cuDNN overwrites them.
    pub(super) unsafe fn get<T>(&self, name: Name, ty: Type, values: &mut [T]) -> Result<usize, String> {
        let (mut count, room) = (0, values.len() as i64);
        let to = if values.is_empty() { std::ptr::null_mut() } else { values.as_mut_ptr().cast::<c_void>() };
        // SAFETY: the descriptor is alive; cuDNN writes at most `room` elements, of the type that
        // the caller promises.
        let status = unsafe { sys::cudnnBackendGetAttribute(self.0, name, ty, room, &mut count, to) };
        check(status, || format!("reading {name:?}"))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Reads an attribute that consists of descriptors into new ones of their kind, at most `most`
    /// of them.
    pub(super) fn get_descriptors(&self, name: Name, kind: Kind, most: usize) -> Result<Vec<Descriptor>, String> {
        let descriptors = (0..most).map(|_| Descriptor::new(kind)).collect::<Result<Vec<_>, _>>()?;
        let mut raw: Vec<_> = descriptors.iter().map(|d| d.0).collect();
        // SAFETY: the elements have this type and are alive; cuDNN fills them in.
        let count = unsafe { self.get(name, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, &mut raw)? };
        Ok(descriptors.into_iter().take(count).collect())
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor was created in `new` and is destroyed once. A failure only leaks
        // it.
        unsafe { sys::cudnnBackendDestroyDescriptor(self.0) };
    }
}

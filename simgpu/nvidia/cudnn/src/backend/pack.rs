//! Packs of pointers: `CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR`, which gives the addresses of a
//! graph's tensors.

use super::attribute::{INT64, Room, VOID_PTR, Values};
use super::object::{Body, foreign, missing};
use super::tensor::Tensor;
use crate::status::{BAD_PARAM, DUPLICATED_ENTRIES, MISALIGNED_POINTER, NOT_SUPPORTED, NULL_POINTER, Outcome};
use crate::status::{ensure, fail};
use std::ffi::c_int;

pub(super) const KIND: c_int = 16;

// CUDNN_ATTR_VARIANT_PACK_*.
const UNIQUE_IDS: c_int = 1000;
const DATA_POINTERS: c_int = 1001;
const INTERMEDIATES: c_int = 1002;
const WORKSPACE: c_int = 1003;

/// The maximum number of pointers.
const MOST: usize = 4096;

/// Exposed addresses of tensors, by tensor identifier, and of the workspace.
#[derive(Debug, Default)]
pub(super) struct Pack {
    ids: Vec<i64>,
    addresses: Vec<usize>,
    workspace: Option<usize>,
}

impl Pack {
    /// Returns the address of a tensor.
    pub(super) fn address(&self, tensor: &Tensor) -> Outcome<usize> {
        self.address_of(tensor.unique_id(), tensor.alignment())
    }

    /// Returns the address of the tensor with an identifier.
    pub(super) fn address_of(&self, id: i64, alignment: usize) -> Outcome<usize> {
        let Some(i) = self.ids.iter().position(|&there| there == id) else {
            return fail(BAD_PARAM, format!("the pack has no pointer for tensor {id}"));
        };
        let address = self.addresses[i];
        ensure(address != 0, NULL_POINTER, || format!("the pointer of tensor {id} is null"))?;
        ensure(address.is_multiple_of(alignment), MISALIGNED_POINTER, || {
            format!("tensor {id} is at {address:#x}, which is not aligned to {alignment} bytes")
        })?;
        Ok(address)
    }

    /// Returns the address of the workspace, which must not be null if `bytes` is not 0.
    pub(super) fn workspace(&self, bytes: usize) -> Outcome<usize> {
        let address = self.workspace.unwrap_or_default();
        ensure(bytes == 0 || address != 0, NULL_POINTER, || format!("the plan needs a workspace of {bytes} bytes"))?;
        Ok(address)
    }
}

impl Body for Pack {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        let addresses = || Ok(values.array(VOID_PTR, MOST)?.into_iter().map(|p| p.expose_provenance()).collect());
        match name {
            UNIQUE_IDS => self.ids = values.array(INT64, MOST)?,
            DATA_POINTERS => self.addresses = addresses()?,
            WORKSPACE => self.workspace = Some(values.one(VOID_PTR)?.expose_provenance()),
            INTERMEDIATES => return fail(NOT_SUPPORTED, "engines keep no data between executions"),
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        if self.ids.is_empty() {
            return missing("CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS");
        }
        if self.workspace.is_none() {
            return missing("CUDNN_ATTR_VARIANT_PACK_WORKSPACE");
        }
        let (ids, pointers) = (self.ids.len(), self.addresses.len());
        ensure(ids == pointers, BAD_PARAM, || format!("{ids} identifiers and {pointers} pointers"))?;
        let mut sorted = self.ids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        ensure(sorted.len() == ids, DUPLICATED_ENTRIES, || "two pointers for the same tensor".into())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            UNIQUE_IDS => room.put(INT64, &self.ids),
            DATA_POINTERS => {
                let pointers: Vec<_> =
                    self.addresses.iter().copied().map(std::ptr::with_exposed_provenance_mut).collect();
                room.put(VOID_PTR, &pointers)
            }
            WORKSPACE => {
                room.put(VOID_PTR, &[std::ptr::with_exposed_provenance_mut(self.workspace.unwrap_or_default())])
            }
            _ => foreign(KIND, name),
        }
    }
}

//! Tensor descriptors: `CUDNN_BACKEND_TENSOR_DESCRIPTOR`.

use super::attribute::{BOOLEAN, DATA_TYPE, INT64, Room, Values};
use super::object::{Body, foreign, missing};
use crate::fused::Place;
use crate::problem::{Described, size_of_data};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, ensure, fail};
use std::ffi::c_int;

pub(super) const KIND: c_int = 17;

/// `CUDNN_MAX_DIMS`.
pub(super) const MAX_DIMS: usize = 8;

// CUDNN_ATTR_TENSOR_*.
const BYTE_ALIGNMENT: c_int = 900;
const TYPE: c_int = 901;
const DIMENSIONS: c_int = 902;
const STRIDES: c_int = 903;
const VECTOR_COUNT: c_int = 904;
const VECTORIZED_DIMENSION: c_int = 905;
const UNIQUE_ID: c_int = 906;
const IS_VIRTUAL: c_int = 907;
const IS_BY_VALUE: c_int = 908;
/// The first of the attributes that only other operations use.
const REORDERING_MODE: c_int = 909;
const LAST: c_int = 914;

/// A tensor.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tensor {
    data_type: Option<c_int>,
    dims: Vec<i64>,
    strides: Vec<i64>,
    unique_id: Option<i64>,
    alignment: Option<i64>,
    is_virtual: bool,
    is_by_value: bool,
}

impl Tensor {
    pub(super) fn described(&self) -> Described {
        Described { data_type: self.data_type(), dims: self.dims.clone(), strides: self.strides.clone() }
    }

    pub(super) fn data_type(&self) -> c_int {
        self.data_type.unwrap_or_default()
    }

    pub(super) fn dims(&self) -> &[i64] {
        &self.dims
    }

    pub(super) fn unique_id(&self) -> i64 {
        self.unique_id.unwrap_or_default()
    }

    /// Returns the alignment of the tensor's address.
    pub(super) fn alignment(&self) -> usize {
        self.alignment.and_then(|n| usize::try_from(n).ok()).unwrap_or(1)
    }

    pub(super) fn place(&self) -> Place {
        match (self.is_virtual, self.is_by_value) {
            (true, _) => Place::Virtual,
            (_, true) => Place::Host,
            _ => Place::Memory,
        }
    }
}

impl Body for Tensor {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            BYTE_ALIGNMENT => self.alignment = Some(values.one(INT64)?),
            TYPE => self.data_type = Some(values.one(DATA_TYPE)?),
            DIMENSIONS => self.dims = values.array(INT64, MAX_DIMS)?,
            STRIDES => self.strides = values.array(INT64, MAX_DIMS)?,
            VECTOR_COUNT => {
                ensure(values.one(INT64)? == 1, NOT_SUPPORTED, || "vectorized tensors are not supported".into())?;
            }
            // The attribute has no meaning if the elements are not vectors.
            VECTORIZED_DIMENSION => drop(values.one(INT64)?),
            UNIQUE_ID => self.unique_id = Some(values.one(INT64)?),
            IS_VIRTUAL => self.is_virtual = values.one(BOOLEAN)? != 0,
            IS_BY_VALUE => self.is_by_value = values.one(BOOLEAN)? != 0,
            REORDERING_MODE..=LAST => return fail(NOT_SUPPORTED, "reordered or ragged tensors are not supported"),
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        let Some(data_type) = self.data_type else { return missing("CUDNN_ATTR_TENSOR_DATA_TYPE") };
        let Some(alignment) = self.alignment else { return missing("CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT") };
        if self.unique_id.is_none() {
            return missing("CUDNN_ATTR_TENSOR_UNIQUE_ID");
        }
        let (dims, strides) = (&self.dims, &self.strides);
        ensure(!dims.is_empty() && dims.len() == strides.len(), BAD_PARAM, || {
            format!("{} sizes and {} strides", dims.len(), strides.len())
        })?;
        ensure(dims.iter().chain(strides).all(|&n| n > 0), BAD_PARAM, || {
            format!("sizes {dims:?} and strides {strides:?} are not all positive")
        })?;
        ensure(!(self.is_virtual && self.is_by_value), BAD_PARAM, || "a virtual tensor has no value".into())?;
        let size = size_of_data(data_type)?;
        ensure(alignment > 0 && alignment % size == 0, BAD_PARAM, || {
            format!("an alignment of {alignment} bytes does not fit elements of {size} bytes")
        })
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            BYTE_ALIGNMENT => room.put(INT64, self.alignment.as_slice()),
            TYPE => room.put(DATA_TYPE, self.data_type.as_slice()),
            DIMENSIONS => room.put(INT64, &self.dims),
            STRIDES => room.put(INT64, &self.strides),
            VECTOR_COUNT => room.put(INT64, &[1]),
            UNIQUE_ID => room.put(INT64, self.unique_id.as_slice()),
            IS_VIRTUAL => room.put(BOOLEAN, &[u8::from(self.is_virtual)]),
            IS_BY_VALUE => room.put(BOOLEAN, &[u8::from(self.is_by_value)]),
            _ => foreign(KIND, name),
        }
    }
}

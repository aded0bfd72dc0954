//! Descriptors of matrix products: `CUDNN_BACKEND_MATMUL_DESCRIPTOR`.

use super::attribute::{DATA_TYPE, Room, Values};
use super::object::{Body, foreign, missing};
use crate::problem::size_of_data;
use crate::status::{NOT_SUPPORTED, Outcome, fail};
use std::ffi::c_int;

pub(super) const KIND: c_int = 18;

// CUDNN_ATTR_MATMUL_*.
const COMP_TYPE: c_int = 1500;
const PADDING_VALUE: c_int = 1503;

/// How a product is computed.
#[derive(Debug, Default)]
pub(super) struct Matmul {
    compute_type: Option<c_int>,
}

impl Matmul {
    pub(super) fn compute_type(&self) -> c_int {
        self.compute_type.unwrap_or_default()
    }
}

impl Body for Matmul {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            COMP_TYPE => self.compute_type = Some(values.one(DATA_TYPE)?),
            PADDING_VALUE => return fail(NOT_SUPPORTED, "a padding value is not supported"),
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        let Some(compute_type) = self.compute_type else { return missing("CUDNN_ATTR_MATMUL_COMP_TYPE") };
        size_of_data(compute_type).map(|_| ())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            COMP_TYPE => room.put(DATA_TYPE, self.compute_type.as_slice()),
            _ => foreign(KIND, name),
        }
    }
}

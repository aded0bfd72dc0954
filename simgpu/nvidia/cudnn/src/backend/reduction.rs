//! Descriptors of reductions: `CUDNN_BACKEND_REDUCTION_DESCRIPTOR`.

use super::attribute::{DATA_TYPE, REDUCTION_OPERATOR, Room, Values};
use super::object::{Body, foreign, missing};
use crate::fused::Reduce;
use crate::problem::size_of_data;
use crate::status::{NOT_SUPPORTED, Outcome, fail};
use std::ffi::c_int;

pub(super) const KIND: c_int = 21;

// CUDNN_ATTR_REDUCTION_*.
const OPERATOR: c_int = 1600;
const COMP_TYPE: c_int = 1601;

/// What the elements are reduced to, and in which type.
#[derive(Debug, Default)]
pub(super) struct Reduction {
    operator: Option<c_int>,
    compute_type: Option<c_int>,
}

impl Reduction {
    pub(super) fn operator(&self) -> Outcome<Reduce> {
        let Some(operator) = self.operator else { return missing("CUDNN_ATTR_REDUCTION_OPERATOR") };
        Reduce::of(operator).map_or_else(|| fail(NOT_SUPPORTED, format!("reduction {operator} is not supported")), Ok)
    }

    pub(super) fn compute_type(&self) -> c_int {
        self.compute_type.unwrap_or_default()
    }
}

impl Body for Reduction {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            OPERATOR => self.operator = Some(values.one(REDUCTION_OPERATOR)?),
            COMP_TYPE => self.compute_type = Some(values.one(DATA_TYPE)?),
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        self.operator()?;
        let Some(compute_type) = self.compute_type else { return missing("CUDNN_ATTR_REDUCTION_COMP_TYPE") };
        size_of_data(compute_type).map(|_| ())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            OPERATOR => room.put(REDUCTION_OPERATOR, self.operator.as_slice()),
            COMP_TYPE => room.put(DATA_TYPE, self.compute_type.as_slice()),
            _ => foreign(KIND, name),
        }
    }
}

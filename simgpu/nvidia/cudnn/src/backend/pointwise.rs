//! Descriptors of operations on each element: `CUDNN_BACKEND_POINTWISE_DESCRIPTOR`.

use super::attribute::{DATA_TYPE, INT64, NAN_PROPAGATION, POINTWISE_MODE, Room, Values};
use super::object::{Body, foreign, missing};
use crate::fused::Mode;
use crate::problem::size_of_data;
use crate::status::{NOT_SUPPORTED, Outcome, fail};
use std::ffi::c_int;

pub(super) const KIND: c_int = 0;

// CUDNN_ATTR_POINTWISE_*.
const MODE: c_int = 0;
const MATH_PREC: c_int = 1;
const NANS: c_int = 2;
/// The first and the last of the attributes that only other modes use.
const RELU_LOWER_CLIP: c_int = 3;
const SWISH_BETA: c_int = 8;
const AXIS: c_int = 9;

/// What is computed from the elements, and in which type.
#[derive(Debug, Default)]
pub(super) struct Pointwise {
    mode: Option<c_int>,
    precision: Option<c_int>,
    axis: Option<i64>,
}

impl Pointwise {
    pub(super) fn mode(&self) -> Outcome<Mode> {
        let Some(mode) = self.mode else { return missing("CUDNN_ATTR_POINTWISE_MODE") };
        Mode::of(mode).map_or_else(|| fail(NOT_SUPPORTED, format!("pointwise mode {mode} is not supported")), Ok)
    }

    pub(super) fn precision(&self) -> c_int {
        self.precision.unwrap_or_default()
    }

    /// Returns the axis whose index is generated.
    pub(super) fn axis(&self) -> Outcome<i64> {
        self.axis.map_or_else(|| missing("CUDNN_ATTR_POINTWISE_AXIS"), Ok)
    }
}

impl Body for Pointwise {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            MODE => self.mode = Some(values.one(POINTWISE_MODE)?),
            MATH_PREC => self.precision = Some(values.one(DATA_TYPE)?),
            // Only modes that are not supported can lose NaNs.
            NANS => drop(values.one(NAN_PROPAGATION)?),
            AXIS => self.axis = Some(values.one(INT64)?),
            RELU_LOWER_CLIP..=SWISH_BETA => return fail(NOT_SUPPORTED, "an activation that is not supported"),
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        if self.mode()? == Mode::Index {
            self.axis()?;
        }
        let Some(precision) = self.precision else { return missing("CUDNN_ATTR_POINTWISE_MATH_PREC") };
        size_of_data(precision).map(|_| ())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            MODE => room.put(POINTWISE_MODE, self.mode.as_slice()),
            MATH_PREC => room.put(DATA_TYPE, self.precision.as_slice()),
            AXIS => room.put(INT64, self.axis.as_slice()),
            _ => foreign(KIND, name),
        }
    }
}

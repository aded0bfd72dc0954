//! Convolution descriptors, which describe how a filter moves over an input:
//! `CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR`.

use super::attribute::{CONVOLUTION_MODE, DATA_TYPE, INT64, Room, Values};
use super::object::{Body, foreign, missing};
use super::tensor::MAX_DIMS;
use crate::problem::{Steps, size_of_data};
use crate::status::{BAD_PARAM, Outcome, ensure};
use std::ffi::c_int;

pub(super) const KIND: c_int = 1;

// CUDNN_ATTR_CONVOLUTION_*.
const COMP_TYPE: c_int = 100;
const CONV_MODE: c_int = 101;
const DILATIONS: c_int = 102;
const FILTER_STRIDES: c_int = 103;
const POST_PADDINGS: c_int = 104;
const PRE_PADDINGS: c_int = 105;
const SPATIAL_DIMS: c_int = 106;

/// `CUDNN_CONVOLUTION` and `CUDNN_CROSS_CORRELATION`.
const MODES: [c_int; 2] = [0, 1];

/// The compute type, the mode, and the other parameters with one number per spatial dimension.
#[derive(Debug, Default)]
pub(super) struct ConvolutionWindow {
    compute_type: Option<c_int>,
    mode: Option<c_int>,
    spatial: Option<i64>,
    dilation: Vec<i64>,
    stride: Vec<i64>,
    after: Vec<i64>,
    before: Vec<i64>,
}

impl ConvolutionWindow {
    pub(super) fn compute_type(&self) -> c_int {
        self.compute_type.unwrap_or_default()
    }

    pub(super) fn steps(&self) -> Steps {
        Steps {
            before: self.before.clone(),
            after: self.after.clone(),
            stride: self.stride.clone(),
            dilation: self.dilation.clone(),
            is_flipped: self.mode == Some(MODES[0]),
        }
    }
}

impl Body for ConvolutionWindow {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            COMP_TYPE => self.compute_type = Some(values.one(DATA_TYPE)?),
            CONV_MODE => self.mode = Some(values.one(CONVOLUTION_MODE)?),
            SPATIAL_DIMS => self.spatial = Some(values.one(INT64)?),
            DILATIONS => self.dilation = values.array(INT64, MAX_DIMS)?,
            FILTER_STRIDES => self.stride = values.array(INT64, MAX_DIMS)?,
            POST_PADDINGS => self.after = values.array(INT64, MAX_DIMS)?,
            PRE_PADDINGS => self.before = values.array(INT64, MAX_DIMS)?,
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        let Some(compute_type) = self.compute_type else { return missing("CUDNN_ATTR_CONVOLUTION_COMP_TYPE") };
        let Some(mode) = self.mode else { return missing("CUDNN_ATTR_CONVOLUTION_CONV_MODE") };
        let Some(spatial) = self.spatial else { return missing("CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS") };
        size_of_data(compute_type)?;
        ensure(MODES.contains(&mode), BAD_PARAM, || format!("unknown convolution mode: {mode}"))?;
        for (what, least, numbers) in [
            ("dilations", 1, &self.dilation),
            ("strides", 1, &self.stride),
            ("paddings before", 0, &self.before),
            ("paddings after", 0, &self.after),
        ] {
            ensure(spatial > 0 && numbers.len() as i64 == spatial, BAD_PARAM, || {
                format!("{} {what} for {spatial} dimensions", numbers.len())
            })?;
            ensure(numbers.iter().all(|&n| n >= least), BAD_PARAM, || format!("{what} of {numbers:?}"))?;
        }
        Ok(())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            COMP_TYPE => room.put(DATA_TYPE, self.compute_type.as_slice()),
            CONV_MODE => room.put(CONVOLUTION_MODE, self.mode.as_slice()),
            SPATIAL_DIMS => room.put(INT64, self.spatial.as_slice()),
            DILATIONS => room.put(INT64, &self.dilation),
            FILTER_STRIDES => room.put(INT64, &self.stride),
            POST_PADDINGS => room.put(INT64, &self.after),
            PRE_PADDINGS => room.put(INT64, &self.before),
            _ => foreign(KIND, name),
        }
    }
}

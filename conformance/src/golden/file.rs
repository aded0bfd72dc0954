//! The format of a file of golden vectors; `golden/make_golden.py` describes it.

use super::damaged;
use crate::family::Named;
use isobit_hal::{DType, Layout, Result};
use serde::Deserialize;
use std::io::Read;

#[derive(Deserialize)]
struct Raw {
    source: String,
    buffers: Vec<(String, String)>,
    cases: Vec<Case>,
    skipped: Vec<[String; 3]>,
}

/// One case.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub(super) op: String,
    #[serde(default)]
    pub(super) params: Params,
    /// Buffer, shape, strides and offset of each input.
    #[serde(rename = "in")]
    pub(super) inputs: Vec<(usize, Vec<usize>, Vec<usize>, usize)>,
    /// Dtype, shape and buffer of the result.
    pub(super) out: (String, Vec<usize>, usize),
    pub(super) tol: Tolerance,
    /// Elements that are not compared because the contract differs from the source there; `why`
    /// gives the reason.
    #[serde(default)]
    pub(super) skip: Vec<usize>,
    #[serde(default)]
    pub(super) why: String,
}

/// The parameters of all operations.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Params {
    pub(super) mul: f64,
    pub(super) add: f64,
    pub(super) exponent: f64,
    pub(super) alpha: f64,
    pub(super) dims: Vec<usize>,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) src_stride: usize,
    pub(super) dst_stride: usize,
    pub(super) src_offset: usize,
    pub(super) dst_offset: usize,
    pub(super) value: String,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
    pub(super) offset: usize,
    /// The named parameters of a family's operation.
    pub(super) named: Named,
}

/// How far a result may be from the source's result.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tolerance {
    /// Every bit must agree.
    Raw,
    /// Every bit must agree, but any NaN equals any other NaN.
    Bits,
    /// The result may be at most this many floats away.
    Ulp(u64),
    /// A bound for each element, in a buffer of f64.
    Abs(usize),
}

/// The elements of one buffer, of one dtype.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) dtype: DType,
    pub(super) bytes: Vec<u8>,
}

/// The contents of a file.
pub(super) struct Golden {
    pub(super) source: String,
    pub(super) buffers: Vec<Buffer>,
    pub(super) cases: Vec<Case>,
    pub(super) skipped: Vec<[String; 3]>,
}

impl Golden {
    /// Unpacks a file.
    ///
    /// # Errors
    /// Returns `Other` if the file does not have this format.
    pub(super) fn read(gzipped: &[u8]) -> Result<Self> {
        let mut text = String::new();
        flate2::read::GzDecoder::new(gzipped).read_to_string(&mut text).map_err(damaged)?;
        let raw: Raw = serde_json::from_str(&text).map_err(damaged)?;
        let buffer = |(dtype, hex): (String, String)| Ok(Buffer { dtype: dtype.parse()?, bytes: unhex(&hex)? });
        let buffers = raw.buffers.into_iter().map(buffer).collect::<Result<_>>()?;
        Ok(Self { source: raw.source, buffers, cases: raw.cases, skipped: raw.skipped })
    }

    /// Returns a buffer by its position.
    pub(super) fn buffer(&self, index: usize) -> Result<&Buffer> {
        self.buffers.get(index).ok_or_else(|| damaged(format_args!("there is no buffer {index}")))
    }
}

impl Case {
    /// Returns the layout of an input.
    pub(super) fn layout(&self, input: usize) -> Result<Layout> {
        let (_, shape, strides, offset) =
            self.inputs.get(input).ok_or_else(|| damaged(format_args!("{} lacks input {input}", self.op)))?;
        Layout::new(&**shape, &**strides, *offset)
    }
}

/// Converts hexadecimal digits to bytes.
pub(super) fn unhex(text: &str) -> Result<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).ok_or_else(|| damaged("a buffer is not hexadecimal"));
    text.as_bytes()
        .chunks(2)
        .map(|pair| Ok((digit(pair[0])? << 4 | digit(*pair.get(1).unwrap_or(&b'x'))?) as u8))
        .collect()
}

//! Digests of results, with which two devices or two machines are compared without transferring the
//! bytes.

use super::buffer::Buffer;
use crate::case::Case;
use crate::cells::Cell;
use crate::compare::{bits_at, canonical};
use crate::schema::{Build, Class, DeviceRow, SCHEMA};
use isobit_hal::{DType, Numerics};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// Returns the digest of a result with the elements in logical order: 128 bits of BLAKE3. Outside
/// class moved, all NaNs count as one.
pub fn result_digest(class: Class, dtype: DType, elements: &[u8]) -> String {
    let size = dtype.size_in_bytes();
    let needs = class != Class::Moved && dtype.is_float();
    let canonical_bytes: Vec<u8>;
    let bytes = if needs {
        let bits: Vec<u64> =
            (0..elements.len() / size).map(|i| canonical(class, dtype, bits_at(dtype, elements, i))).collect();
        canonical_bytes = super::buffer::pack(dtype, &bits);
        &canonical_bytes
    } else {
        elements
    };
    blake3::hash(bytes).to_hex()[..32].to_string()
}

/// Returns the digest of a case: 64 bits of BLAKE3 over its description and the bytes of its
/// operands, so that two machines can tell whether they ran the same case.
pub(super) fn case_digest<'a>(case: &Case, operands: impl Iterator<Item = &'a Buffer>) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&serde_json::to_vec(case).expect("a case is plain data"));
    for operand in operands {
        hash.update(&(operand.values().len() as u64).to_le_bytes());
        hash.update(operand.values());
    }
    hash.finalize().to_hex()[..16].to_string()
}

/// The digests of a cell's cases, in the order of their indices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellDigests {
    /// The operation's name.
    pub op: String,
    /// The cell's label.
    pub dtypes: String,
    /// Portable or vendor numerics, for operations that offer a choice.
    pub numerics: Option<Numerics>,
    /// The digest of each case's inputs.
    pub cases: Vec<String>,
    /// The digest of each case's result; empty if there was no result.
    pub digests: Vec<String>,
}

/// The reference's result for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownResult<'a> {
    /// The digest of the case.
    pub case: &'a str,
    /// The digest of the result.
    pub digest: &'a str,
}

impl CellDigests {
    /// Returns the digests of the case with the given index and of its result; `None` if it has no
    /// result.
    pub fn get(&self, index: u64) -> Option<KnownResult<'_>> {
        let index = usize::try_from(index).ok()?;
        let (case, digest) = (self.cases.get(index)?, self.digests.get(index)?);
        (!digest.is_empty()).then_some(KnownResult { case, digest })
    }
}

/// The reference's results for the cases of a seed, by cell. A device that gives the same result
/// needs no comparison value by value.
#[derive(Debug, Clone, Default)]
pub struct KnownResults(HashMap<(String, String, Option<Numerics>), CellDigests>);

impl KnownResults {
    /// Collects the results of cells that the reference has run. A digest does not record whether
    /// an index out of range was reported, so cells that may report one are left out.
    pub fn new(cells: impl IntoIterator<Item = CellDigests>) -> Self {
        let told = |c: &CellDigests| {
            Cell::find(&c.op, &c.dtypes, c.numerics)
                .is_some_and(|cell| cell.class() != Class::Vendor && !cell.runs_alone())
        };
        let cells = cells.into_iter().filter(told);
        Self(cells.map(|c| ((c.op.clone(), c.dtypes.clone(), c.numerics), c)).collect())
    }

    /// Returns the results of a cell.
    pub fn of(&self, cell: &Cell) -> Option<&CellDigests> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&(cell.operation.name().to_string(), cell.label(), cell.numerics))
    }
}

/// A device's digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceDigests {
    /// The device.
    pub device: DeviceRow,
    /// The digests of its cells.
    pub cells: Vec<CellDigests>,
}

/// The digests of a run, `digests.json`, which join runs of different machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// The seed of the run.
    pub seed: u64,
    /// The number of cases requested in each cell.
    pub cases: u64,
    /// The build.
    pub build: Build,
    /// The devices that ran.
    pub devices: Vec<DeviceDigests>,
}

impl Digests {
    /// The file's name in the folder of a run.
    pub const FILE: &str = "digests.json";

    /// Writes the file.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, serde_json::to_string(self)? + "\n")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Returns the error of the file system, or `InvalidData` if the file contains no digests or
    /// digests of another schema.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::parse(&std::fs::read(path)?)
    }

    /// Parses the contents of a file.
    ///
    /// # Errors
    /// Returns `InvalidData` if they are no digests, or digests of another schema.
    pub fn parse(text: &[u8]) -> io::Result<Self> {
        let digests: Self = serde_json::from_slice(text)?;
        if digests.schema != SCHEMA {
            let message = format!("its schema is {}, but this program reads schema {SCHEMA}", digests.schema);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(digests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_are_one_outside_moved() {
        let (a, b) = (0x7fc0_0001u32.to_ne_bytes(), 0xffc0_0002u32.to_ne_bytes());
        let digest = |class, bytes: &[u8]| result_digest(class, DType::F32, bytes);
        assert_eq!(digest(Class::Exact, &a), digest(Class::Exact, &b));
        assert_ne!(digest(Class::Moved, &a), digest(Class::Moved, &b));
        assert_ne!(digest(Class::Exact, &0f32.to_ne_bytes()), digest(Class::Exact, &(-0f32).to_ne_bytes()));
    }
}

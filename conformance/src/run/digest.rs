//! Digests of results: what two devices, or two machines, are compared by without moving the bytes.

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

/// The digest of a result, elements in logical order: 128 bits of BLAKE3, NaNs made one outside
/// class moved.
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

/// The digest of a case: 64 bits of BLAKE3 over what it is and the bytes of its operands, so that
/// two machines can tell whether they ran the same.
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
    /// Who computed it, where that can be chosen.
    pub numerics: Option<Numerics>,
    /// What each case was.
    pub cases: Vec<String>,
    /// What it gave: one a case, empty where it gave no result.
    pub digests: Vec<String>,
}

/// What the reference gave for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownResult<'a> {
    /// The digest of the case.
    pub case: &'a str,
    /// The digest of the result.
    pub digest: &'a str,
}

impl CellDigests {
    /// What the case of an index was and gave; none where it gave nothing.
    pub fn get(&self, index: u64) -> Option<KnownResult<'_>> {
        let index = usize::try_from(index).ok()?;
        let (case, digest) = (self.cases.get(index)?, self.digests.get(index)?);
        (!digest.is_empty()).then_some(KnownResult { case, digest })
    }
}

/// What the reference gave for the cases of a seed, by cell: a device that gives the same need not
/// be held to it value by value.
#[derive(Debug, Clone, Default)]
pub struct KnownResults(HashMap<(String, String, Option<Numerics>), CellDigests>);

impl KnownResults {
    /// Of cells that the reference has run. A digest does not say whether an index out of range was
    /// reported, so that cells which may report one are left out.
    pub fn new(cells: impl IntoIterator<Item = CellDigests>) -> Self {
        let told = |c: &CellDigests| {
            Cell::find(&c.op, &c.dtypes, c.numerics)
                .is_some_and(|cell| cell.class() != Class::Vendor && !cell.runs_alone())
        };
        let cells = cells.into_iter().filter(told);
        Self(cells.map(|c| ((c.op.clone(), c.dtypes.clone(), c.numerics), c)).collect())
    }

    /// Those of a cell.
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
    /// Its cells.
    pub cells: Vec<CellDigests>,
}

/// The digests of a run, `digests.json`: what runs on different machines are joined by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The seed of the run.
    pub seed: u64,
    /// Cases asked for in each cell.
    pub cases: u64,
    /// What was built.
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
    /// Those of the file system.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, serde_json::to_string(self)? + "\n")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` where it holds no digests, or those of another
    /// schema.
    pub fn read(path: &Path) -> io::Result<Self> {
        let digests: Self = serde_json::from_slice(&std::fs::read(path)?)?;
        if digests.schema != SCHEMA {
            let message = format!("its schema is {}, this program reads {SCHEMA}", digests.schema);
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

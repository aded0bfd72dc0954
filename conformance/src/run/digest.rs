//! Digests of results: what two devices, or two machines, are compared by without moving the bytes.

use crate::compare::{bits_at, canonical};
use crate::report::{Class, DeviceRow, Numerics};
use isobit_hal::DType;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead};
use std::path::Path;

/// The digest of a result, elements in logical order: 128 bits of BLAKE3, NaNs made one outside class moved.
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

/// The digests of a cell's cases, in the order of their indices; empty where a case gave no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellDigests {
    /// The operation's name.
    pub op: String,
    /// The cell's label.
    pub dtypes: String,
    /// Who computed it, where that can be chosen.
    pub numerics: Option<Numerics>,
    /// One a case.
    pub digests: Vec<String>,
}

/// The first line of a digest file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestHeader {
    /// The seed of the run.
    pub seed: u64,
    /// The device.
    pub device: DeviceRow,
}

/// A device's digests, as a file: a header and a line a cell, JSON each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestFile {
    /// Whose they are.
    pub header: DigestHeader,
    /// The cells.
    pub cells: Vec<CellDigests>,
}

impl DigestFile {
    /// Writes the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string(&self.header)? + "\n";
        for cell in &self.cells {
            text += &serde_json::to_string(cell)?;
            text.push('\n');
        }
        std::fs::write(path, text)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` where it is no digest file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut lines = io::BufReader::new(std::fs::File::open(path)?).lines();
        let missing = || io::Error::new(io::ErrorKind::InvalidData, "no header in the first line");
        let header = serde_json::from_str(&lines.next().ok_or_else(missing)??)?;
        let cells = lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect::<io::Result<_>>()?;
        Ok(Self { header, cells })
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

//! Times of another library, as `peers/pytorch.py` writes them.

use crate::row::Row;
use isobit_hal::{Error, ErrorKind, Result};
use serde::Deserialize;
use std::path::Path;

/// The rows of another library.
#[derive(Debug, Deserialize)]
pub struct Peers {
    /// The library and its version.
    pub source: String,
    rows: Vec<PeerRow>,
}

#[derive(Debug, Deserialize)]
struct PeerRow {
    op: String,
    dtype: String,
    work: String,
    us: f64,
}

impl Peers {
    /// Reads such a file.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::Other, format!("cannot read the times of a peer from {}", path.display()))
                .with_source(e)
        };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        serde_json::from_str(&text).map_err(|e| failed(e.into()))
    }

    /// Fills in the peer's time of each row that the peer also has. A `_vendor` row gets the same
    /// peer time as the portable one.
    ///
    /// Returns how many of the peer's rows have no counterpart: they were left out by a filter, or
    /// have another name on one side.
    pub fn fill(&self, rows: &mut [Row]) -> usize {
        for row in rows.iter_mut() {
            row.peer_us = self.rows.iter().find(|peer| peer.is_of(row)).map(|peer| peer.us);
        }
        self.rows.iter().filter(|peer| !rows.iter().any(|row| peer.is_of(row))).count()
    }
}

impl PeerRow {
    fn is_of(&self, row: &Row) -> bool {
        let op = row.op.strip_suffix("_vendor").unwrap_or(&row.op);
        self.op == op && self.dtype == row.dtype && self.work == row.work
    }
}

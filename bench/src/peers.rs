//! Times of another library, as `peers/pytorch.py` writes them.

use crate::row::Row;
use isobit_hal::{Error, ErrorKind, Result};
use serde::Deserialize;
use std::path::Path;

/// Its rows.
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
    /// Reads a file of them.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::Other, format!("{} holds no times of a peer", path.display())).with_source(e)
        };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        serde_json::from_str(&text).map_err(|e| failed(e.into()))
    }

    /// Fills in the peer's time of each row that it has too. Its rows are held against the vendor's
    /// where there are two.
    pub fn fill(&self, rows: &mut [Row]) {
        for row in rows {
            let op = row.op.strip_suffix("_vendor").unwrap_or(&row.op);
            let same = |p: &&PeerRow| p.op == op && p.dtype == row.dtype && p.work == row.work;
            row.peer_us = self.rows.iter().find(same).map(|p| p.us);
        }
    }
}

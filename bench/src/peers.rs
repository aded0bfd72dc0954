//! Times of another library, as `peers/pytorch.py` and `peers/llama_cpp.cpp` write them.

use crate::report::Report;
use crate::row::Row;
use isobit_hal::{Error, ErrorKind, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Reads the files of `--peers`.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Peers>> {
    paths.iter().map(|path| Peers::read(path)).collect()
}

/// Fills in the peers' times, and says how many have no place.
pub fn fill(peers: Vec<Peers>, report: &mut Report) {
    for peer in peers {
        let unmet = peer.fill(&mut report.rows);
        if unmet > 0 {
            eprintln!("note: {unmet} rows of {} have no counterpart among those of the benchmark", peer.source);
        }
        report.peers.retain(|known| *known != peer.source);
        report.peers.push(peer.source);
    }
}

/// The rows of another library.
#[derive(Debug, Deserialize)]
pub struct Peers {
    /// The library and its version.
    source: String,
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
    fn read(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::Other, format!("cannot read the times of a peer from {}", path.display()))
                .with_source(e)
        };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        serde_json::from_str(&text).map_err(|e| failed(e.into()))
    }

    /// Fills in the peer's time of each row that the peer also has. A `_vendor` or `_block` row
    /// gets the same peer time as the portable one.
    ///
    /// Returns how many of the peer's rows have no counterpart: they were left out by a filter, or
    /// have another name on one side.
    fn fill(&self, rows: &mut [Row]) -> usize {
        for row in rows.iter_mut() {
            if let Some(peer) = self.rows.iter().find(|peer| peer.is_of(row)) {
                row.peers_us.insert(self.source.clone(), peer.us);
            }
        }
        self.rows.iter().filter(|peer| !rows.iter().any(|row| peer.is_of(row))).count()
    }
}

impl PeerRow {
    fn is_of(&self, row: &Row) -> bool {
        let op = ["_vendor", "_block"].iter().find_map(|numerics| row.op.strip_suffix(numerics)).unwrap_or(&row.op);
        self.op == op && self.dtype == row.dtype && self.work == row.work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(source: &str, rows: &[(&str, f64)]) -> Peers {
        let row = |&(op, us): &(&str, f64)| PeerRow { op: op.into(), dtype: "f32".into(), work: "64Mi".into(), us };
        Peers { source: source.into(), rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn each_row_has_the_times_of_every_peer_that_does_its_work() {
        let mut rows = ["matmul", "matmul_vendor", "matmul_block", "exp"].map(|op| Row::new(op, "f32", "64Mi", 1.0));
        assert_eq!(peers("PyTorch 2.11.0", &[("matmul", 3.0), ("log", 4.0)]).fill(&mut rows), 1);
        assert_eq!(peers("llama.cpp (ggml 0.25.3)", &[("matmul", 5.0)]).fill(&mut rows), 0);
        let times = |row: &Row| row.peers_us.values().copied().collect::<Vec<_>>();
        assert_eq!(rows.each_ref().map(times), [vec![3.0, 5.0], vec![3.0, 5.0], vec![3.0, 5.0], vec![]]);
        assert_eq!(rows[0].peers_us["PyTorch 2.11.0"], 3.0);
    }
}

//! Data-parallel primitives: a lane reads its first operand from another lane.

use super::row::Row;
use super::wave::Wave;
use crate::isa::Dpp;

/// Returns the lane from which a lane reads; `None` if there is none.
fn source(dpp: Dpp, lane: usize, width: usize) -> Option<usize> {
    let ctrl = match dpp {
        Dpp::Dpp8 { lanes, .. } => return Some(lane & !7 | usize::from(lanes[lane & 7] & 7)),
        Dpp::Dpp16 { ctrl, .. } => usize::from(ctrl),
    };
    let (row, at, by) = (lane & !15, lane & 15, ctrl & 15);
    let within = |at: Option<usize>, end: usize| at.filter(|&at| at < end);
    match ctrl {
        0x000..=0x0ff => Some(lane & !3 | ctrl >> (2 * (lane & 3)) & 3),
        // A shift left moves data to lower lanes: a lane reads the lane that is `by` above it.
        0x101..=0x10f => within(Some(at + by), 16).map(|at| row | at),
        0x111..=0x11f => at.checked_sub(by).map(|at| row | at),
        0x121..=0x12f => Some(row | (at + 16 - by) & 15),
        0x130 => within(Some(lane + 1), width),
        0x134 => Some((lane + 1) % width),
        0x138 => lane.checked_sub(1),
        0x13c => Some((lane + width - 1) % width),
        0x140 => Some(row | (15 - at)),
        0x141 => Some(lane & !7 | (7 - (lane & 7))),
        // The last lane of each row goes to the next row; lane 31 goes to rows two and three.
        0x142 => row.checked_sub(1),
        0x143 => (lane >= 32).then_some(31),
        0x150..=0x15f => Some(row | by),
        0x160..=0x16f => Some(row | at ^ by),
        _ => None,
    }
}

/// Whether a lane receives a value from its source lane.
fn readable(dpp: Dpp, from: Option<usize>, exec: u64) -> bool {
    let (Dpp::Dpp16 { fetch_inactive, .. } | Dpp::Dpp8 { fetch_inactive, .. }) = dpp;
    from.is_some_and(|lane| fetch_inactive || exec >> lane & 1 == 1)
}

/// Returns the row as permuted; a lane with nothing to read gets zero.
pub fn permute(row: &Row, dpp: Dpp, wave: &Wave) -> Row {
    let exec = wave.exec();
    Row(std::array::from_fn(|lane| {
        let from = source(dpp, lane, wave.width);
        if lane < wave.width && readable(dpp, from, exec) { row.0[from.unwrap_or(lane)] } else { 0 }
    }))
}

/// Returns the lanes that are written: those that the masks allow and that had something to read.
/// If bound_ctrl is set, lanes with nothing to read are also written, with zero.
pub fn written(dpp: Dpp, wave: &Wave) -> u64 {
    let exec = wave.exec();
    (0..wave.width).fold(0, |lanes, lane| {
        let through = match dpp {
            Dpp::Dpp8 { .. } => true,
            Dpp::Dpp16 { row_mask, bank_mask, bound_ctrl, .. } => {
                let masks = row_mask >> ((lane / 16) & 3) & 1 == 1 && bank_mask >> ((lane / 4) & 3) & 1 == 1;
                masks && (bound_ctrl || readable(dpp, source(dpp, lane, wave.width), exec))
            }
        };
        lanes | u64::from(through) << lane
    })
}

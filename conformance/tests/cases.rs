//! The properties of cases: the same for a seed in every run, well formed for hal, and covering
//! every layout kind in each cell.

use isobit_conformance::case::{Case, LayoutKind};
use isobit_conformance::cells::Cell;
use isobit_conformance::generate;
use isobit_conformance::run::{Bench, Reference, run_case};
use isobit_hal::CpuDevice;
use std::collections::BTreeSet;

/// Every seventh cell, which covers every operation and dtype: seven and the eleven dtypes are
/// coprime.
fn some_cells() -> impl Iterator<Item = &'static Cell> {
    Cell::all().iter().step_by(7)
}

#[test]
fn a_case_depends_on_seed_cell_and_index_alone() {
    for cell in some_cells() {
        let backward: Vec<Case> = (0..8).rev().map(|i| generate::case(5, cell, i)).collect();
        let forward: Vec<Case> = (0..8).map(|i| generate::case(5, cell, i)).collect();
        assert!(forward.iter().eq(backward.iter().rev()), "{cell}");
        assert_ne!(forward[3], generate::case(6, cell, 3), "{cell}");
    }
}

/// This case must never change, or saved seeds and indices would name different cases.
#[test]
fn a_known_case_is_what_it_was() {
    let cell = Cell::find("add", "f32", None).unwrap();
    let text = serde_json::to_string(&generate::case(0, cell, 1)).unwrap();
    assert_eq!(text, include_str!("known_case.json").trim_end());
}

#[test]
fn cases_survive_json() {
    for cell in some_cells() {
        for i in 0..12 {
            let case = generate::case(1, cell, i);
            let text = serde_json::to_string(&case).unwrap();
            assert_eq!(serde_json::from_str::<Case>(&text).unwrap(), case, "{text}");
            assert_eq!(case.cell(), Some(cell));
        }
    }
}

/// The first 32 cases of each cell contain every layout kind that the operation's operands can
/// have.
#[test]
fn every_layout_kind_is_among_the_cases_of_a_cell() {
    for cell in Cell::all() {
        let kinds: BTreeSet<LayoutKind> =
            (0..32).flat_map(|i| generate::case(0, cell, i).layout_kinds().collect::<Vec<_>>()).collect();
        let possible: Vec<LayoutKind> = match cell.operation.name() {
            // Only a destination, which may not contain an element twice.
            "const_set" | "rand_uniform" | "rand_normal" => {
                LayoutKind::ALL.into_iter().filter(|&k| k != LayoutKind::Broadcast).collect()
            }
            // Two strides, the inner one 1.
            "copy2d" => {
                use LayoutKind::*;
                vec![Contiguous, Broadcast, Narrowed, Stepped]
            }
            _ => LayoutKind::ALL.to_vec(),
        };
        let missing: Vec<_> = possible.iter().filter(|k| !kinds.contains(k)).collect();
        assert!(missing.is_empty(), "{cell}: no case is {missing:?}");
    }
}

/// The cases of one operation contain the important ranks and sizes, empty tensors and scalars.
#[test]
fn shapes_reach_the_edges() {
    let cell = Cell::find("exp", "f32", None).unwrap();
    let shapes: Vec<Vec<usize>> = (0..256).map(|i| generate::case(0, cell, i).shape).collect();
    for rank in 0..=6 {
        assert!(shapes.iter().any(|s| s.len() == rank), "no case of rank {rank}");
    }
    assert!(shapes.iter().any(|s| s.len() > 8), "no case has more dimensions than kernels walk");
    for size in [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257] {
        assert!(shapes.iter().any(|s| s.contains(&size)), "no case has a dimension of {size}");
    }
    assert!(shapes.iter().any(|s| s.iter().product::<usize>() > 10_000));
}

/// Rows of some operands begin at aligned addresses and end raggedly.
#[test]
fn some_rows_have_an_aligned_pitch_and_a_ragged_width() {
    let cell = Cell::find("exp", "f32", None).unwrap();
    let ragged = (0..256).filter(|&i| {
        let case = generate::case(0, cell, i);
        let row = case.dst.0.iter().zip(&case.shape).max_by_key(|(d, _)| d.order);
        let is_row = |n: usize, pitch: usize| !n.is_multiple_of(4) && pitch.is_multiple_of(4) && n > 1;
        row.is_some_and(|(d, &n)| d.step == 1 && d.before == 0 && d.after > 0 && is_row(n, n + d.after))
    });
    assert!(ragged.count() > 3);
}

/// The reference accepts every case: all are well formed, and the CPU writes the whole result,
/// writes nothing else, and gives the same bits twice.
#[test]
fn the_reference_takes_every_case() {
    let bench = Bench::new(&CpuDevice, Reference::Itself);
    for cell in some_cells() {
        for i in 0..6 {
            let case = generate::case(2, cell, i);
            let run = run_case(&bench, cell, &case, None);
            assert!(run.fault.is_none(), "{cell} {i}: {}\n{case:?}", run.fault.unwrap());
        }
    }
}

//! The properties of cases: the same for a seed in every run, well formed for hal, and covering
//! every layout kind in each cell.

use isobit_conformance::case::{Case, LayoutKind, LayoutSpec};
use isobit_conformance::cells::Cell;
use isobit_conformance::generate::{self, QUICK_CASES};
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

/// The cases of a quick run contain, in each cell, every layout kind that the operation's operands
/// can have.
#[test]
fn every_layout_kind_is_among_the_cases_of_a_cell() {
    for cell in Cell::all() {
        let kinds: BTreeSet<LayoutKind> =
            (0..QUICK_CASES).flat_map(|i| generate::case(0, cell, i).layout_kinds().collect::<Vec<_>>()).collect();
        let possible: Vec<LayoutKind> = match cell.operation.name() {
            // Only a destination, which may not contain an element twice.
            "const_set" | "rand_uniform" | "rand_normal" | "bernoulli" => {
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

/// The cells of an operation, each with its cases of `cargo xtask test --full`.
fn cases_of(ops: &[&str]) -> Vec<(&'static Cell, Vec<Case>)> {
    let cells = Cell::all().iter().filter(|cell| ops.contains(&cell.operation.name()));
    cells.map(|cell| (cell, generate::full(cell).collect())).collect()
}

/// Kernels choose their method by these properties, so every cell has each of them.
#[test]
fn every_cell_has_what_chooses_a_kernel() {
    let missing = |ops: &[&str], has: &dyn Fn(&Case) -> bool| -> Vec<String> {
        let cells = cases_of(ops).into_iter();
        cells.filter(|(_, cases)| !cases.iter().any(has)).map(|(cell, _)| cell.to_string()).collect()
    };
    // A dense matrix of whole vectors, and a row or a column of it as the other operand.
    let rows = |case: &Case| {
        let specs: Vec<_> = case.inputs.iter().filter_map(|input| input.layout.as_ref()).chain([&case.dst]).collect();
        let broadcasts = specs.iter().filter(|spec| spec.0.iter().filter(|d| d.broadcast).count() == 1);
        let plain = |spec: &&LayoutSpec| spec.0.iter().all(|d| d.step == 1 && d.before == 0 && d.after == 0);
        let whole = matches!(case.shape[..], [rows, columns] if rows > 1 && columns > 0 && columns % 16 == 0);
        whole && specs.len() == case.inputs.len() + 1 && specs.iter().all(plain) && broadcasts.count() > 0
    };
    assert_eq!(missing(&["add", "rem", "pow", "minimum", "eq", "ne", "where_cond", "add_gelu"], &rows), [""; 0]);
    for lengths in [1025..2049, 2049..4097, 4097..8193, 8193..16_385, 16_385..200_000] {
        let has = |case: &Case| lengths.contains(case.shape.last().unwrap());
        assert_eq!(
            missing(&["softmax", "log_softmax", "rms_norm", "layer_norm", "skip_layer_norm"], &has),
            [""; 0],
            "{lengths:?}"
        );
    }
    let tall = |case: &Case| {
        let dense = case.inputs[0].layout.as_ref().is_some_and(|spec| *spec == LayoutSpec::contiguous(2));
        dense && matches!(case.shape[..], [rows, columns] if rows > 512 && columns.is_multiple_of(16))
    };
    assert_eq!(missing(&["sum", "mean", "max", "argmin"], &tall), [""; 0]);
    // Products of nothing, by experts with more rows than the kernel for few takes.
    let nothing =
        |case: &Case| matches!(case.shape[..], [experts, tokens, top, _, 0, n] if tokens * top > 8 * experts && n > 0);
    assert_eq!(missing(&["qmatmul_id_q4_0", "qmatmul_id_q8_1_q4_0", "qmatmul_id_q8_1_q6_k"], &nothing), [""; 0]);
    for exponent in [0.0, 1.0, -1.0, 2.0, 3.0, -2.0, 0.5, -0.5] {
        let has = |case: &Case| case.params.number("exponent") == exponent && case.dst != LayoutSpec::contiguous(1);
        assert_eq!(missing(&["powf"], &has), [""; 0], "{exponent}");
    }
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

//! Few elements of a huge tensor that are not 0: their count, their coordinates, and what a mask
//! with them selects.

use super::far_ids::row_numbers;
use crate::case::{Dist, Values};
use crate::compare::compare_bits;
use crate::huge::Done;
use crate::huge::bench::{Bench, Repeat, agree};
use crate::huge::tiled::TILE;
use crate::run::pack;
use crate::schema::Class;
use isobit_hal::{BackendDevice, BackendStorage, DType, Layout, Op, Src};

/// The operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::huge) enum Kind {
    Count,
    Coordinates,
    Select,
}

/// The elements of a row.
const COLUMNS: usize = 1003;

/// Results beyond the marks.
const MORE: usize = 5;

impl Kind {
    pub fn op(self, bound: usize) -> Op {
        match self {
            Kind::Count => Op::CountNonzero,
            Kind::Coordinates => Op::Nonzero { bound },
            Kind::Select => Op::MaskedSelect { bound },
        }
    }

    pub fn dtypes(self) -> Vec<DType> {
        match self {
            Kind::Count | Kind::Coordinates => vec![DType::U8, DType::I64],
            Kind::Select => vec![DType::U8; 3],
        }
    }

    /// Returns the number of huge tensors.
    pub fn copies(self) -> usize {
        if self == Kind::Select { 2 } else { 1 }
    }
}

pub(super) fn run<D: BackendDevice>(bench: &Bench<'_, D>, kind: Kind) -> Done {
    let device = bench.device;
    let repeat = Repeat::whole(TILE, bench.sizes.beyond_32().div_ceil(TILE));
    let rows = repeat.len() / COLUMNS;
    let n = rows * COLUMNS;
    let mut marked = row_numbers(n);
    marked.sort_unstable();
    let mut mask = device.zeros(&n.into(), DType::U8)?;
    for &at in &marked {
        mask.write_bytes(at, &[1])?;
    }
    let layout = Layout::contiguous((rows, COLUMNS));
    let bound = marked.len() + MORE;
    let (op, dtypes) = (kind.op(bound), kind.dtypes());
    let dst_dtype = dtypes[dtypes.len() - 1];
    let tile = pack(DType::U8, &Values::Drawn { dist: Dist::LogUniform, seed: 5 }.bits(DType::U8, TILE));
    let values = match kind {
        Kind::Select => Some(bench.repeated(DType::U8, &tile, repeat)?),
        _ => None,
    };
    let inputs: Vec<_> = values.iter().chain([&mask]).map(|s| Src::Storage(s, &layout)).collect();
    let (shape, expected) = match kind {
        Kind::Count => (Layout::contiguous(()), pack(dst_dtype, &[marked.len() as u64])),
        Kind::Coordinates => {
            let mut rows: Vec<u64> =
                marked.iter().flat_map(|&at| [at / COLUMNS, at % COLUMNS]).map(|i| i as u64).collect();
            rows.resize(2 * bound, i64::MAX as u64);
            (Layout::contiguous((bound, 2)), pack(dst_dtype, &rows))
        }
        Kind::Select => {
            let mut taken: Vec<u8> = marked.iter().map(|&at| tile[at % TILE]).collect();
            taken.resize(bound, 0);
            (Layout::contiguous(bound), taken)
        }
    };
    let mut dst = device.zeros(shape.shape(), dst_dtype)?;
    D::Storage::apply_into(&op, &inputs, &mut dst, &shape)?;
    let got = dst.to_cpu_storage()?;
    agree("the marked elements", 0, &compare_bits(Class::Moved, dst_dtype, &expected, got.as_bytes()))
}

//! Gathers and scatters whose ids reach across a huge first dimension. The expected rows follow
//! from the ids modulo the rows of a tile. After a scatter, its rows are read and put back, and
//! then the whole tensor must be as before.

use crate::case::{Dist, Values};
use crate::compare::compare_bits;
use crate::huge::Done;
use crate::huge::bench::{Bench, Repeat, agree};
use crate::huge::tiled::TILE;
use crate::run::pack;
use crate::schema::Class;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, DType, Indexing, Layout, Op, Src};

/// The operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::huge) enum Kind {
    IndexSelect,
    Gather,
    ScatterSet,
    ScatterAdd,
    IndexAdd,
}

impl Kind {
    pub fn op(self) -> Op {
        match self {
            Kind::IndexSelect => Op::IndexSelect(Indexing::new(0)),
            Kind::Gather => Op::Gather(Indexing::new(0)),
            Kind::ScatterSet => Op::ScatterSet(Indexing::new(0)),
            Kind::ScatterAdd => Op::ScatterAdd(Indexing::new(0)),
            Kind::IndexAdd => Op::IndexAdd(Indexing::new(0)),
        }
    }

    /// Returns the dtypes of the operands for those of the values and the ids.
    pub fn dtypes(self, values: DType, ids: DType) -> Vec<DType> {
        match self {
            Kind::IndexSelect | Kind::Gather => vec![values, ids, values],
            _ => vec![values, ids, values, values],
        }
    }

    /// Returns the number of huge tensors: index_add may sort far more ids than there are here, and
    /// works on a copy.
    pub fn copies(self) -> usize {
        if matches!(self, Kind::IndexSelect | Kind::Gather) { 1 } else { 2 }
    }

    /// Whether each element has its own id.
    fn has_id_per_element(self) -> bool {
        matches!(self, Kind::Gather | Kind::ScatterSet | Kind::ScatterAdd)
    }
}

/// The number of rows that ids name.
const IDS: usize = 3000;

/// Returns different row numbers below `rows`: some next to the limits, the others anywhere, in no
/// order.
pub(super) fn row_numbers(rows: usize) -> Vec<usize> {
    let near = [0, rows / 4, rows / 2, rows / 4 * 3, rows].map(|l| [l.wrapping_sub(1), l, l + 1]);
    let mut ids: Vec<usize> = near.into_iter().flatten().filter(|&id| id < rows).collect();
    let drawn = Values::Drawn { dist: Dist::LogUniform, seed: 11 }.bits(DType::I64, IDS);
    ids.extend(drawn.into_iter().map(|bits| (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) as usize % rows));
    let mut seen = std::collections::HashSet::new();
    ids.retain(|&id| seen.insert(id));
    // An order that is neither ascending nor descending.
    ids.sort_by_key(|&id| (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    ids
}

pub(super) fn run<D: BackendDevice>(
    bench: &Bench<'_, D>,
    kind: Kind,
    dtype: DType,
    id_dtype: DType,
    columns: usize,
) -> Done {
    let (device, size) = (bench.device, dtype.size_in_bytes());
    let tile_rows = TILE / columns;
    let tile_len = tile_rows * columns;
    let repeat = Repeat::whole(tile_len, bench.sizes.beyond_32().div_ceil(tile_len));
    let rows = repeat.tiles * tile_rows;
    let dist = if dtype.is_float() { Dist::Uniform { scale: 2 } } else { Dist::Uniform { scale: 5 } };
    let tile = pack(dtype, &Values::Drawn { dist, seed: 3 }.bits(dtype, tile_len));
    let row_of = |id: usize| &tile[id % tile_rows * columns * size..][..columns * size];
    let numbers = row_numbers(rows);
    let count = numbers.len();
    let each = if kind.has_id_per_element() { columns } else { 1 };
    let ids: Vec<u64> = numbers.iter().flat_map(|&id| std::iter::repeat_n(id as u64, each)).collect();
    let ids = device.storage_from_bytes(id_dtype, &pack(id_dtype, &ids))?;
    let id_layout = if each == columns && kind.has_id_per_element() {
        Layout::contiguous((count, columns))
    } else {
        Layout::contiguous(count)
    };
    let mut huge = bench.repeated(dtype, &tile, repeat)?;
    let (all, few) = (Layout::contiguous((rows, columns)), Layout::contiguous((count, columns)));
    let before: Vec<u8> = numbers.iter().flat_map(|&id| row_of(id).to_vec()).collect();
    if matches!(kind, Kind::IndexSelect | Kind::Gather) {
        let got = D::Storage::apply(&kind.op(), &[(&huge, &all), (&ids, &id_layout)])?.to_cpu_storage()?;
        return agree("the rows of the ids", 0, &compare_bits(Class::Moved, dtype, &before, got.as_bytes()));
    }
    let src = pack(dtype, &Values::Drawn { dist, seed: 4 }.bits(dtype, count * columns));
    let expected = match kind {
        Kind::ScatterSet => src.clone(),
        _ => {
            let (a, b) = (CpuDevice.storage_from_bytes(dtype, &before)?, CpuDevice.storage_from_bytes(dtype, &src)?);
            a.binary(&few, &b, &few, BinaryOp::Add)?.as_bytes().to_vec()
        }
    };
    let stored = device.storage_from_bytes(dtype, &src)?;
    let inputs = [Src::InPlace, Src::Storage(&ids, &id_layout), Src::Storage(&stored, &few)];
    D::Storage::apply_into(&kind.op(), &inputs, &mut huge, &all)?;
    device.synchronize()?;
    let mut got = vec![0; expected.len()];
    for (i, &id) in numbers.iter().enumerate() {
        huge.read_bytes(id * columns * size, &mut got[i * columns * size..][..columns * size])?;
    }
    agree("the rows of the ids", 0, &compare_bits(Class::Exact, dtype, &expected, &got))?;
    for &id in &numbers {
        huge.write_bytes(id * columns * size, row_of(id))?;
    }
    bench.compare("the rows without an id", Class::Moved, &huge, 0, &tile, repeat)
}

//! Results that depend on the position alone: random numbers, and the triangle of one huge matrix.
//! A part of them is the result of a smaller call with shifted parameters.

use crate::case::{Dist, Values};
use crate::compare::compare_bits;
use crate::huge::Done;
use crate::huge::bench::{Bench, Repeat, agree};
use crate::huge::tiled::TILE;
use crate::run::pack;
use crate::schema::Class;
use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, Layout, Op, Triangle};

/// The position of the first number: not the start of one of the generator's blocks.
const FIRST: u64 = 3;

pub(super) fn random<D: BackendDevice>(bench: &Bench<'_, D>, dtype: DType, op: impl Fn(u64) -> Op) -> Done {
    let (n, chunk) = (bench.sizes.beyond_32(), bench.sizes.chunk());
    let mut huge = bench.storage(n, dtype)?;
    D::Storage::apply_into(&op(FIRST), &[], &mut huge, &Layout::contiguous(n))?;
    for start in (0..n).step_by(chunk) {
        let len = chunk.min(n - start);
        let mut part = bench.storage(len, dtype)?;
        let op = op(FIRST + start as u64);
        D::Storage::apply_into(&op, &[], &mut part, &Layout::contiguous(len))?;
        bench.compare_stored("the numbers", Class::Defined, &huge, start, &part, Repeat::whole(len, 1))?;
        // The start of each part also against the CPU, read by a copy to the host.
        let few = len.min(4096);
        let mut expected = CpuStorage::zeros(few, dtype)?;
        CpuStorage::apply_into(&op, &[], &mut expected, &Layout::contiguous(few))?;
        let mut got = vec![0; few * dtype.size_in_bytes()];
        huge.read_bytes(start * dtype.size_in_bytes(), &mut got)?;
        let found = compare_bits(Class::Defined, dtype, expected.as_bytes(), &got);
        agree("the numbers, against the CPU", start, &found)?;
    }
    Ok(())
}

pub(super) fn triangle<D: BackendDevice>(bench: &Bench<'_, D>) -> Done {
    let n = bench.sizes.beyond_32();
    let columns = n.isqrt() + 1;
    let rows = columns;
    let diagonal = 1000.min(columns as i64 / 3);
    let tile = pack(DType::U8, &Values::Drawn { dist: Dist::Uniform { scale: 7 }, seed: 6 }.bits(DType::U8, TILE));
    let huge = bench.repeated(DType::U8, &tile, Repeat::whole(TILE, (rows * columns).div_ceil(TILE)))?;
    let of = |diagonal| Op::Triangle(Triangle::lower(diagonal));
    let got = D::Storage::apply(&of(diagonal), &[(&huge, &Layout::contiguous((rows, columns)))])?;
    let step = (bench.sizes.chunk() / columns).max(1);
    for row in (0..rows).step_by(step) {
        let some = step.min(rows - row);
        // These rows as a matrix of their own, whose elements lie at the start of a buffer.
        let start = row * columns;
        let first = start % TILE;
        let tiles = (first + some * columns).div_ceil(TILE);
        let small = bench.repeated(DType::U8, &tile, Repeat::whole(TILE, tiles))?;
        let layout = Layout::contiguous_with_offset((some, columns), first);
        let op = of(diagonal + row as i64);
        let part = D::Storage::apply(&op, &[(&small, &layout)])?;
        bench.compare_stored("the triangle", Class::Moved, &got, start, &part, Repeat::whole(some * columns, 1))?;
        // The first of these rows by the definition, read by a copy to the host.
        let keeps = |column: usize| column as i64 - row as i64 <= diagonal;
        let expected: Vec<u8> = (0..columns).map(|c| if keeps(c) { tile[(start + c) % TILE] } else { 0 }).collect();
        let mut read = vec![0; columns];
        got.read_bytes(start, &mut read)?;
        agree("the triangle, by its definition", start, &compare_bits(Class::Moved, DType::U8, &expected, &read))?;
    }
    // The CPU's result for a corner, so that the rule above is not the only witness.
    let corner = Layout::contiguous((33, columns.min(TILE)));
    let all = CpuDevice.storage_from_bytes(DType::U8, &tile.repeat(34))?;
    let expected = CpuStorage::apply(&of(7), &[(&all, &corner)])?;
    let here = bench.device.storage_from_bytes(DType::U8, &tile.repeat(34))?;
    let corner = D::Storage::apply(&of(7), &[(&here, &corner)])?.to_cpu_storage()?;
    agree("a small triangle", 0, &compare_bits(Class::Moved, DType::U8, expected.as_bytes(), corner.as_bytes()))
}

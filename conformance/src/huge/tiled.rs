//! Cases whose huge result is the small result repeated, because every result depends on one tile
//! alone.

use super::bench::{Bench, Repeat, agree};
use super::{Done, Sizes};
use crate::case::{Dist, Values, format_of};
use crate::compare::{bits_at, compare_bits};
use crate::run::pack;
use crate::runtime_tests::case::ensure;
use crate::schema::Class;
use isobit_hal::{BackendDevice, BackendStorage, Copy2d, CpuDevice, DType, Layout, Numerics, Op, Result, Src};

/// What a tile contains.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fill {
    /// Drawn values.
    Drawn(Dist),
    /// Small integers whose sum along the first dimension is 0, so that running sums repeat.
    ZeroSum,
}

/// Makes the view of an operand from the row-major layout of its buffer and the number of tiles.
type View = fn(Layout, usize) -> Result<Layout>;

/// An operand: a buffer that repeats a tile, and the layout of the elements that the call names.
/// The buffer's other elements must keep their values.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    dtype: DType,
    dims: Vec<usize>,
    axis: Option<usize>,
    view: View,
    fill: Fill,
}

impl Operand {
    /// Creates an operand that does not repeat, of a contiguous buffer with the given dimensions.
    pub fn new(dtype: DType, dims: &[usize]) -> Self {
        let fill = Fill::Drawn(match format_of(dtype) {
            Some(_) => Dist::Uniform { scale: 2 },
            None => Dist::Uniform { scale: 5 },
        });
        Self { dtype, dims: dims.into(), axis: None, view: |layout, _| Ok(layout), fill }
    }

    /// Repeats the buffer along a dimension.
    pub fn along(mut self, axis: usize) -> Self {
        self.axis = Some(axis);
        self
    }

    /// Sets the layout of the elements that the call names.
    pub fn view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// Sets the values.
    pub fn fill(mut self, fill: Fill) -> Self {
        self.fill = fill;
        self
    }

    /// Sets the distribution of the values.
    pub fn dist(self, dist: Dist) -> Self {
        self.fill(Fill::Drawn(dist))
    }

    fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    fn repeat(&self, tiles: usize) -> Repeat {
        match self.axis {
            Some(axis) => Repeat::of(&self.dims, axis, tiles),
            None => Repeat::whole(self.elements(), 1),
        }
    }

    fn layout(&self, tiles: usize) -> Result<Layout> {
        let mut dims = self.dims.clone();
        if let Some(axis) = self.axis {
            dims[axis] *= tiles;
        }
        (self.view)(Layout::contiguous(dims), tiles)
    }

    /// Returns the bytes of the tile.
    fn tile(&self, seed: u64) -> Vec<u8> {
        let count = self.elements();
        match self.fill {
            Fill::Drawn(dist) => pack(self.dtype, &Values::Drawn { dist, seed }.bits(self.dtype, count)),
            Fill::ZeroSum => self.zero_sum(seed),
        }
    }

    fn zero_sum(&self, seed: u64) -> Vec<u8> {
        let drawn = Values::Drawn { dist: Dist::Integers { bits: 3 }, seed }.bits(DType::I64, self.elements());
        let mut values: Vec<i64> = drawn.into_iter().map(|bits| bits as i64).collect();
        let columns = self.elements() / self.dims[0];
        for column in 0..columns {
            let sum: i64 = values.iter().skip(column).step_by(columns).sum();
            values[(self.dims[0] - 1) * columns + column] -= sum;
        }
        self.whole(&values)
    }

    /// Converts integers to the dtype.
    fn whole(&self, values: &[i64]) -> Vec<u8> {
        whole(self.dtype, values)
    }
}

/// Converts integers to the bytes of a dtype that represents them.
pub(super) fn whole(dtype: DType, values: &[i64]) -> Vec<u8> {
    let convert = || {
        let wide = CpuDevice.storage_from_slice(values)?;
        wide.to_dtype(&Layout::contiguous(values.len()), dtype)?.to_cpu_storage()
    };
    convert().expect("the CPU casts i64 to every dtype").as_bytes().to_vec()
}

/// A case.
#[derive(Debug)]
pub(super) struct Tiled {
    op: Op,
    /// Whether it is called as a copy of rows.
    rows: bool,
    inputs: Vec<Operand>,
    dst: Operand,
    tiles: usize,
    /// Bytes that the operation needs besides its operands.
    workspace: u64,
}

impl Tiled {
    /// Creates a case with as many tiles as the largest operand needs for `elements` elements.
    pub fn new(op: Op, inputs: Vec<Operand>, dst: Operand, elements: usize) -> Self {
        let repeated = inputs.iter().chain([&dst]).filter(|o| o.axis.is_some());
        let most = repeated.map(Operand::elements).max().expect("an operand repeats");
        Self { op, rows: false, inputs, dst, tiles: elements.div_ceil(most), workspace: 0 }
    }

    /// Calls the copy as a copy of rows.
    pub fn in_rows(mut self) -> Self {
        self.rows = true;
        self
    }

    /// Sets the bytes that the operation needs per tile besides its operands.
    pub fn with_workspace(mut self, bytes_per_tile: usize) -> Self {
        self.workspace = (bytes_per_tile * self.tiles) as u64;
        self
    }

    /// Returns the dtypes of the operands.
    pub fn dtypes(&self) -> Vec<DType> {
        self.inputs.iter().chain([&self.dst]).map(|o| o.dtype).collect()
    }

    /// Returns the operation.
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// Whether it is called as a copy of rows.
    pub fn is_rows(&self) -> bool {
        self.rows
    }

    /// Returns the bytes that the case needs.
    pub fn bytes(&self) -> u64 {
        let operands = self.inputs.iter().chain([&self.dst]);
        operands.map(|o| (o.repeat(self.tiles).len() * o.dtype.size_in_bytes()) as u64).sum::<u64>() + self.workspace
    }

    pub fn run<D: BackendDevice>(&self, class: Class, bench: &Bench<'_, D>) -> Done {
        if !bench.device.supports(&self.op, &self.dtypes()).is_supported() {
            return Err(super::Stop::Lacks(format!("{} on this device", self.op)));
        }
        let tiles: Vec<Vec<u8>> = (0u64..).zip(self.inputs.iter().chain([&self.dst])).map(|(i, o)| o.tile(i)).collect();
        // A library's result is exact for the values of its cases, in any order of its sums.
        let reference = self
            .op
            .clone()
            .with_numerics(self.op.numerics().map(|by| if by == Numerics::Vendor { Numerics::Portable } else { by }));
        let expected = self.call(&reference, &Bench::new(&CpuDevice, bench.sizes), &tiles, 1)?.to_cpu_storage()?;
        let small = self.call(&self.op, bench, &tiles, 1)?.to_cpu_storage()?;
        let class_of_small = if class == Class::Vendor { Class::Exact } else { class };
        let dtype = self.dst.dtype;
        ensure!(
            expected.as_bytes() != tiles[self.inputs.len()] || self.dst.elements() == 0,
            "the case is pointless: its result is what the destination held before"
        );
        let found = compare_bits(class_of_small, dtype, expected.as_bytes(), small.as_bytes());
        agree("the small result, against the CPU", 0, &found)?;
        let huge = self.call(&self.op, bench, &tiles, self.tiles)?;
        bench.device.synchronize()?;
        let repeat = self.dst.repeat(self.tiles);
        bench.compare("the huge result, against the small one", class_of_small, &huge, 0, small.as_bytes(), repeat)
    }

    /// Returns the destination's whole buffer after a call with a number of tiles.
    fn call<D: BackendDevice>(
        &self,
        op: &Op,
        bench: &Bench<'_, D>,
        bytes: &[Vec<u8>],
        tiles: usize,
    ) -> Done<D::Storage> {
        let mut stored = Vec::with_capacity(self.inputs.len());
        for (operand, bytes) in self.inputs.iter().zip(bytes) {
            stored.push((bench.repeated(operand.dtype, bytes, operand.repeat(tiles))?, operand.layout(tiles)?));
        }
        let mut dst = bench.repeated(self.dst.dtype, &bytes[self.inputs.len()], self.dst.repeat(tiles))?;
        let layout = self.dst.layout(tiles)?;
        if self.rows {
            let (src, from) = &stored[0];
            let copy = Copy2d::new(layout.dims()[0], layout.dims()[1])
                .with_strides(from.stride()[0], layout.stride()[0])
                .with_offsets(from.start_offset(), layout.start_offset());
            src.copy2d(&mut dst, copy)?;
            return Ok(dst);
        }
        let srcs: Vec<Src<'_, D::Storage>> = stored.iter().map(|(s, l)| Src::Storage(s, l)).collect();
        D::Storage::apply_into(op, &srcs, &mut dst, &layout)?;
        Ok(dst)
    }
}

/// Returns the value of an element as an integer.
pub(super) fn integer_at(dtype: DType, bytes: &[u8], index: usize) -> i64 {
    let bits = bits_at(dtype, bytes, index);
    match format_of(dtype) {
        Some(format) => format.to_f64(bits) as i64,
        None => bits as i64,
    }
}

/// The sizes of the tiles of most cases: 91 rows of 165 elements, both odd and no multiples of a
/// vector, so that tiles begin at every alignment.
pub(super) const ROWS: usize = 91;
pub(super) const COLUMNS: usize = 165;
/// The elements of a whole tile.
pub(super) const TILE: usize = ROWS * COLUMNS;

/// The number of elements of most cases.
pub(super) fn most(sizes: Sizes) -> usize {
    sizes.beyond_32()
}

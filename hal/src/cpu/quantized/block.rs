//! Block products with quantized matrices: those of `block_product` over the dequantized matrix.

use super::super::block_product::{Blocks, Segments};
use super::super::blocked::{Line, MC, Method, NC, Panels};
use super::super::walk::parallel;
use super::format::SEGMENT;
use super::product::{COLUMNS, Group, Product, SEGMENT_BYTES};
use crate::{DType, Matmul};
use std::ops::Range;

/// A block of results: rows of activations by columns, which are rows of the weights from `first`
/// on.
struct Block<'a> {
    product: &'a Product<'a>,
    x: &'a [f32],
    rows: &'a [usize],
    first: usize,
}

impl Block<'_> {
    fn pack_rows(&self, k: &Range<usize>, panels: &mut Panels<'_, f32>) {
        for (i, row) in self.rows.iter().enumerate() {
            let from = row / self.product.share * self.product.k;
            panels.set_line(i, &self.x[from + k.start..from + k.end]);
        }
    }

    /// Dequantizes the elements of columns. Chains and block products take at most a segment of a
    /// format, or half of one.
    fn pack_columns(&self, k: &Range<usize>, panels: &mut Panels<'_, f32>) {
        let Product { functions, weights, .. } = self.product;
        let (size, bytes) = (functions.format.block_size(), functions.format.block_bytes());
        let blocks = k.start / size..k.end.div_ceil(size);
        let (mut read, mut elements) = ([0; SEGMENT_BYTES], [0.0; SEGMENT]);
        for column in 0..panels.lines {
            let read = &mut read[..blocks.len() * bytes];
            weights.read(self.first + column, blocks.start * bytes, read);
            for (block, elements) in read.chunks_exact(bytes).zip(elements.chunks_exact_mut(size)) {
                functions.dequantize(block, elements);
            }
            panels.set_line(column, &elements[k.start - blocks.start * size..][..k.len()]);
        }
    }
}

/// Computes the rows of results of every group from activations.
pub(super) fn run(product: &Product<'_>, x: &[f32], groups: &[Group]) {
    let (n, k) = (product.n, product.k);
    let digits = Matmul::block_digits(DType::F32).expect("f32 has block products");
    let blocks = Blocks { bits: 8 * digits as u32, segments: Segments::of_product(k) };
    let tiles = n.div_ceil(NC);
    let tasks: Vec<(usize, &[usize])> =
        groups.iter().flat_map(|g| g.rows.chunks(MC).map(|rows| (g.first, rows))).collect();
    let most = tasks.iter().map(|(_, rows)| rows.len()).max().unwrap_or(0);
    parallel(tasks.len() * tiles, 1, &|range| {
        let mut scratch = Method::<f32>::scratch(&blocks, [most, n, k]);
        for i in range {
            let ((first, rows), column) = (tasks[i / tiles], i % tiles * NC);
            let block = Block { product, x, rows, first: first + column };
            let sides = [rows.len(), NC.min(n - column), k];
            let pack = |k: Range<usize>, _: &mut Line<f32>, [left, right]: [Option<Panels<'_, f32>>; 2]| {
                if let Some(mut panels) = left {
                    block.pack_rows(&k, &mut panels);
                }
                if let Some(mut panels) = right {
                    block.pack_columns(&k, &mut panels);
                }
            };
            let store = |row: usize, _: &mut Line<f32>, results: &[f32]| {
                for (at, results) in results.chunks(COLUMNS).enumerate() {
                    (product.store)(rows[row], column + at * COLUMNS, results);
                }
            };
            blocks.block(&mut scratch, sides, pack, store);
        }
    });
}

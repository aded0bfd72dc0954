//! Products of f8 with scales: each segment of k is a product of f32, which its scales multiply as
//! it is added.

use super::cast::cast;
use super::matmul::{batch_offset, matmul};
use crate::{Cast, CpuStorage, Layout, Matmul, ScaledMatmul};

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// The scales of an operand, as a matrix of lines by segments in each matrix of a batch.
struct Scales<'a> {
    values: &'a [f32],
    layout: Layout,
    /// Lines that share a scale; one line if each has its own, all if there is one.
    of_lines: usize,
    strides: [usize; 2],
}

impl<'a> Scales<'a> {
    /// Takes the scales of an operand of so many lines, of which they are the dimension `line`
    /// counted from the last.
    fn new((storage, layout): Input<'a>, batch: &[usize], lines: usize, line: usize) -> Self {
        let layout = ScaledMatmul::broadcast(layout, batch).expect("validated to broadcast");
        let last = layout.dims().len() - 1;
        let (along_lines, along_k) = (last - line, last - (1 - line));
        let own = layout.dims()[along_lines];
        let of_lines = match own {
            1 => lines.max(1),
            _ if own == lines => 1,
            _ => ScaledMatmul::BLOCK,
        };
        let step = |d: usize| if layout.dims()[d] == 1 { 0 } else { layout.stride()[d] };
        let strides = [step(along_lines), step(along_k)];
        Self { values: storage.as_slice().expect("validated to be of f32"), layout, of_lines, strides }
    }

    /// Returns the scales of a segment of one matrix of the batch, by their lines.
    fn of_segment(&self, batch: usize, segment: usize) -> impl Fn(usize) -> f32 {
        let [along_lines, along_k] = self.strides;
        let first = batch_offset(&self.layout, batch) + segment * along_k;
        move |line| self.values[first + line / self.of_lines * along_lines]
    }
}

/// Returns the elements of a layout as f32, one after the other.
fn widened((storage, layout): Input<'_>) -> (CpuStorage, Layout) {
    let dense = Layout::contiguous(layout.shape());
    let mut values = CpuStorage::from(vec![0f32; dense.elem_count()]);
    cast(Cast::default(), storage, layout, &mut values, &dense);
    (values, dense)
}

pub(super) fn scaled_matmul<'a>(stored: impl Fn(usize) -> Input<'a>, dst: &mut CpuStorage, dst_layout: &Layout) {
    if dst_layout.elem_count() == 0 {
        return;
    }
    let ([batch @ .., m, n], [.., k]) = (dst_layout.dims(), stored(0).1.dims()) else {
        unreachable!("validated to have two dimensions at least");
    };
    let (m, n, k) = (*m, *n, *k);
    let [(a, a_layout), (b, b_layout)] = [0, 1].map(|side| widened(stored(side)));
    let (of_a, of_b) = (Scales::new(stored(2), batch, m, 1), Scales::new(stored(3), batch, n, 0));
    let dense = Layout::contiguous(dst_layout.shape());
    let mut sums = vec![0f32; dense.elem_count()];
    let mut products = CpuStorage::from(sums.clone());
    for segment in 0..k.div_ceil(ScaledMatmul::BLOCK) {
        let first = segment * ScaledMatmul::BLOCK;
        let length = ScaledMatmul::BLOCK.min(k - first);
        let part = |layout: &Layout, from_last: usize| {
            layout.narrow(layout.dims().len() - from_last, first, length).expect("a segment lies within k")
        };
        let (a_part, b_part) = (part(&a_layout, 1), part(&b_layout, 2));
        matmul(Matmul::default(), (&a, &a_part), (&b, &b_part), &mut products, &dense);
        let products: &[f32] = products.as_slice().expect("products of f32 are f32");
        for (matrix, (sums, products)) in sums.chunks_exact_mut(m * n).zip(products.chunks_exact(m * n)).enumerate() {
            let (of_rows, of_columns) = (of_a.of_segment(matrix, segment), of_b.of_segment(matrix, segment));
            for (i, (sum, product)) in sums.iter_mut().zip(products).enumerate() {
                let scale = of_rows(i / n) * of_columns(i % n);
                *sum = if segment == 0 { product * scale } else { product.mul_add(scale, *sum) };
            }
        }
    }
    cast(Cast::default(), &CpuStorage::from(sums), &dense, dst, dst_layout);
}

//! Executes attention: for each batch entry and head, the operations in their order, on one matrix
//! at a time. Sums are in f32, in ascending order. No vendor promises an order.
//!
//! Where cuDNN documents nothing, this does what release 9.14 does: keys beyond the length of a
//! batch entry are not read, an entry without keys is not written, and a query that sees no key
//! gets zeros. Queries beyond the length are not read or written either, which was not measured.

use super::{Action, Attention, Number, Operation, Tensor};
use crate::problem::HALF;
use half::{bf16, f16};
use isobit_simgpu_library_common::Access;
use isobit_simgpu_math::convolution::{Tensor as Layout, View};
use std::sync::Arc;

/// Where a tensor of an execution is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    Virtual,
    /// An exposed address.
    Memory(usize),
    Value(Number),
}

/// Attention with checked arguments.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The name of the call, for findings.
    pub(crate) what: &'static str,
    pub(crate) attention: Arc<Attention>,
    /// Where the graph's tensors are, in their order.
    pub(crate) sources: Vec<Source>,
}

/// A batch entry that has queries and keys.
#[derive(Debug, Clone, Copy)]
struct Entry {
    index: usize,
    queries: usize,
    keys: usize,
}

/// The matrices of some heads, one after the other, in row-major order.
#[derive(Debug, Clone, Default)]
struct Matrices {
    heads: usize,
    rows: usize,
    columns: usize,
    numbers: Vec<Number>,
}

impl Matrices {
    /// Returns the matrix of one of the query's heads; neighbours share one if there are fewer.
    fn head(&self, head: usize, of: usize) -> Matrix<'_> {
        let size = self.rows * self.columns;
        let first = head * self.heads / of * size;
        Matrix { rows: self.rows, columns: self.columns, numbers: &self.numbers[first..first + size] }
    }
}

/// A matrix in row-major order.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    rows: usize,
    columns: usize,
    numbers: &'a [Number],
}

impl<'a> Matrix<'a> {
    /// Returns a row, or the one that is repeated, and how far apart the elements of its columns
    /// are: a column can be repeated too.
    fn row(&self, row: usize) -> (&'a [Number], usize) {
        let first = if self.rows == 1 { 0 } else { row * self.columns };
        (&self.numbers[first..first + self.columns], usize::from(self.columns > 1))
    }
}

impl Entry {
    /// Returns the layout of a tensor's part for this entry and the offset of its first element.
    fn part(&self, attention: &Attention, at: usize) -> (Layout, usize) {
        let layout = attention.tensor(at).layout;
        let mut part = Layout { dims: layout.dims, strides: layout.strides };
        part.dims[0] = 1;
        let (queries, keys) = (self.queries, self.keys);
        let within = if at == attention.query || at == attention.result {
            [queries, usize::MAX]
        } else if at == attention.value {
            [keys, usize::MAX]
        } else if at == attention.key {
            [usize::MAX, keys]
        } else {
            [queries, keys]
        };
        for (size, most) in part.dims[2..].iter_mut().zip(within) {
            *size = (*size).min(most);
        }
        (part, if layout.dims[0] == 1 { 0 } else { self.index * layout.strides[0] })
    }
}

impl Launch {
    /// # Safety
    /// Wherever `access` allows it, the operands have the sizes and types of the graph.
    pub(crate) unsafe fn run(&self, access: &Access<'_>) {
        let attention = &*self.attention;
        // SAFETY: the caller promises sizes and types wherever the access is allowed.
        let Some(entries) = (unsafe { self.entries(access) }) else { return };
        // Check the access to every operand, so that every finding is reported. The write comes
        // last, because a request for write access marks the memory as written.
        let allowed = |at: usize, write: bool| entries.iter().all(|entry| self.is_allowed(entry, at, write, access));
        let inputs = (0..self.sources.len()).filter(|&at| at != attention.result);
        let is_readable = inputs.fold(true, |all, at| allowed(at, false) & all);
        if !(is_readable && allowed(attention.result, true)) {
            return;
        }
        for entry in &entries {
            // SAFETY: the reads were allowed.
            let operands: Vec<_> = (0..self.sources.len()).map(|at| unsafe { self.read(entry, at) }).collect();
            let [_, heads, ..] = attention.tensor(attention.scores).dims();
            let results: Vec<_> = (0..heads).flat_map(|head| self.evaluate(entry, head, &operands)).collect();
            // SAFETY: the write was allowed.
            unsafe { self.write(entry, results) };
        }
    }

    /// Returns the batch entries with anything to compute, or `None` if their lengths may not be
    /// read.
    ///
    /// # Safety
    /// The requirement of [`run`](Self::run).
    unsafe fn entries(&self, access: &Access<'_>) -> Option<Vec<Entry>> {
        let [batch, _, queries, keys] = self.attention.tensor(self.attention.scores).dims();
        let all = (0..batch).map(|index| Entry { index, queries, keys });
        let Some(lengths) = self.attention.lengths else { return Some(all.collect()) };
        let all: Vec<_> = all.collect();
        let may_read = |at: usize| all.iter().all(|entry| self.is_allowed(entry, at, false, access));
        if !(may_read(lengths[0]) & may_read(lengths[1])) {
            return None;
        }
        let shortened = |entry: Entry| {
            // SAFETY: the reads were allowed.
            let length = |at: usize| unsafe { self.read(&entry, at) }.numbers[0].int().max(0) as usize;
            let [queries, keys] = lengths.map(length);
            Entry { queries: queries.min(entry.queries), keys: keys.min(entry.keys), ..entry }
        };
        let has_any = |entry: &Entry| entry.queries > 0 && entry.keys > 0;
        Some(all.into_iter().map(shortened).filter(has_any).collect())
    }

    /// Returns the part of a tensor in memory for an entry, and its address.
    fn located(&self, entry: &Entry, at: usize) -> Option<(&Tensor, Layout, usize)> {
        let Source::Memory(address) = self.sources[at] else { return None };
        let tensor = self.attention.tensor(at);
        let (part, offset) = entry.part(&self.attention, at);
        let size = if tensor.is_half() { size_of::<u16>() } else { size_of::<u32>() };
        Some((tensor, part, address.wrapping_add(offset * size)))
    }

    fn name(&self, at: usize) -> String {
        let attention = &self.attention;
        let operands = [attention.query, attention.key, attention.value, attention.result];
        let known = operands.into_iter().zip(["q", "k", "v", "o"]).find(|&(operand, _)| operand == at);
        let tensor = || format!("tensor {}", attention.tensor(at).id);
        format!("{}: {}", self.what, known.map_or_else(tensor, |(_, name)| name.into()))
    }

    fn is_allowed(&self, entry: &Entry, at: usize, write: bool, access: &Access<'_>) -> bool {
        let Some((tensor, part, address)) = self.located(entry, at) else { return true };
        match tensor.is_half() {
            true => View::<u16>::new(&part, address).is_allowed(write, &self.name(at), access),
            false => View::<u32>::new(&part, address).is_allowed(write, &self.name(at), access),
        }
    }

    /// Returns the matrices of a tensor that is an input; other tensors have none yet.
    ///
    /// # Safety
    /// The read is allowed, and the requirement of [`run`](Self::run) is met.
    unsafe fn read(&self, entry: &Entry, at: usize) -> Matrices {
        if let Source::Value(number) = self.sources[at] {
            return Matrices { heads: 1, rows: 1, columns: 1, numbers: vec![number] };
        }
        let located = self.located(entry, at).filter(|_| at != self.attention.result);
        let Some((tensor, part, address)) = located else { return Matrices::default() };
        let number = |bits: u32| Number::of_bits(bits, tensor.data_type);
        // SAFETY: the caller promises that the elements may be read and have this size.
        let numbers = unsafe {
            match tensor.is_half() {
                true => View::<u16>::new(&part, address).read().map(|bits| number(bits.into())).collect(),
                false => View::<u32>::new(&part, address).read().map(number).collect(),
            }
        };
        let [_, heads, rows, columns, _] = part.dims;
        Matrices { heads, rows, columns, numbers }
    }

    /// Writes the result's numbers.
    ///
    /// # Safety
    /// The write is allowed, and the requirement of [`run`](Self::run) is met.
    unsafe fn write(&self, entry: &Entry, numbers: Vec<f32>) {
        let Some((tensor, part, address)) = self.located(entry, self.attention.result) else { return };
        let bits = |number: f32, _| match tensor.data_type {
            HALF => f16::from_f32(number).to_bits(),
            _ => bf16::from_f32(number).to_bits(),
        };
        // SAFETY: the caller promises that the elements, of half precision, may be written.
        unsafe { View::<u16>::new(&part, address).update(numbers, false, bits) };
    }

    /// Returns the result of one head.
    fn evaluate(&self, entry: &Entry, head: usize, operands: &[Matrices]) -> Vec<f32> {
        let attention = &*self.attention;
        let [_, heads, ..] = attention.tensor(attention.scores).dims();
        let mut between = vec![Matrices::default(); operands.len()];
        for operation in &attention.graph.operations {
            let (part, _) = entry.part(attention, operation.to);
            let [.., rows, columns, _] = part.dims;
            let matrix = |&at: &usize| match self.sources[at] {
                Source::Virtual => between[at].head(0, 1),
                _ => operands[at].head(head, heads),
            };
            let inputs: Vec<_> = operation.inputs.iter().map(matrix).collect();
            let mut numbers = apply(operation, &inputs, [rows, columns]);
            let data_type = attention.tensor(operation.to).data_type;
            numbers.iter_mut().for_each(|number| *number = number.rounded(data_type));
            between[operation.to] = Matrices { heads: 1, rows, columns, numbers };
        }
        let (largest, result) = (&between[attention.largest].numbers, &between[attention.result]);
        let has_key = |row: usize| largest[row].float() != f32::NEG_INFINITY;
        let number = |(i, number): (usize, &Number)| if has_key(i / result.columns) { number.float() } else { 0.0 };
        result.numbers.iter().enumerate().map(number).collect()
    }
}

/// Computes an operation, without rounding to the type of its result.
fn apply(operation: &Operation, inputs: &[Matrix<'_>], [rows, columns]: [usize; 2]) -> Vec<Number> {
    match operation.action {
        Action::Matmul { .. } => product(inputs[0], inputs[1]),
        Action::Reduce(by) => {
            let row = |numbers: &[Number]| Number::Float(by.apply(numbers.iter().map(|number| number.float())));
            inputs[0].numbers.chunks(inputs[0].columns).map(row).collect()
        }
        Action::Pointwise { mode, axis } => {
            let mut numbers = Vec::with_capacity(rows * columns);
            for row in 0..rows {
                let none = ([Number::Int(0)].as_slice(), 0);
                let inputs = [0, 1, 2].map(|i| inputs.get(i).map_or(none, |input| input.row(row)));
                numbers.extend((0..columns).map(|column| {
                    let index = if axis == 2 { row } else { column };
                    mode.apply(operation.precision, inputs.map(|(row, step)| row[column * step]), index)
                }));
            }
            numbers
        }
    }
}

/// Returns the product of two matrices.
fn product(a: Matrix<'_>, b: Matrix<'_>) -> Vec<Number> {
    let b_numbers: Vec<_> = b.numbers.iter().map(|number| number.float()).collect();
    let mut result = Vec::with_capacity(a.rows * b.columns);
    for row in a.numbers.chunks(a.columns) {
        let mut sums = vec![0f32; b.columns];
        for (factor, b_row) in row.iter().zip(b_numbers.chunks(b.columns)) {
            let factor = factor.float();
            for (sum, number) in sums.iter_mut().zip(b_row) {
                *sum += factor * number;
            }
        }
        result.extend(sums.into_iter().map(Number::Float));
    }
    result
}

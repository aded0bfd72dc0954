//! An operand in host memory: its elements at the positions that the layout gives, and poison
//! everywhere else.

use crate::case::{GUARD, LayoutSpec, Placed, Values};
use crate::compare::bits_at;
use isobit_hal::{DType, Scalar};
use std::ops::Range;

/// The value of unwritten bytes in the first run and its complement in the second.
pub const POISONS: [u8; 2] = [0xA5, 0x5A];

/// How an operand is placed in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Between guard bands, which show a stray access.
    Banded,
    /// In its own allocation that ends with the last element, so that the device's watch sees a
    /// stray access.
    Exact,
}

/// An operand.
pub struct Buffer {
    pub dtype: DType,
    placed: Placed,
    exact: Placed,
    /// For each element of the buffer, whether it belongs to the layout.
    named: Vec<bool>,
    /// The bytes of the layout's elements, in memory order; `None` for an output.
    values: Option<Vec<u8>>,
}

/// Evaluates an expression with `N` bound to the size of a dtype, so that element copies have a
/// constant size.
macro_rules! by_size {
    ($dtype:expr, $N:ident => $body:expr) => {
        match $dtype.size_in_bytes() {
            1 => {
                const $N: usize = 1;
                $body
            }
            2 => {
                const $N: usize = 2;
                $body
            }
            4 => {
                const $N: usize = 4;
                $body
            }
            _ => {
                const $N: usize = 8;
                $body
            }
        }
    };
}

impl Buffer {
    pub fn new(dtype: DType, spec: &LayoutSpec, dims: &[usize], values: Option<&Values>) -> Self {
        let placed = spec.place(dims);
        let named = placed.named();
        let values = values.map(|values| {
            let bits = values.bits(dtype, named.iter().filter(|&&n| n).count());
            pack(dtype, &bits)
        });
        let exact = placed.exact();
        Self { dtype, placed, exact, named, values }
    }

    /// Returns the layout in a buffer of the given form.
    pub fn placed(&self, form: Form) -> &Placed {
        match form {
            Form::Banded => &self.placed,
            Form::Exact => &self.exact,
        }
    }

    /// Returns the range of the whole buffer's elements that a buffer of the given form contains.
    fn elements(&self, form: Form) -> Range<usize> {
        match form {
            Form::Banded => 0..self.placed.len,
            Form::Exact => GUARD..GUARD + self.exact.len,
        }
    }

    /// Returns the range of the whole buffer's bytes that a buffer of the given form contains.
    pub fn range(&self, form: Form) -> Range<usize> {
        let (elements, size) = (self.elements(form), self.dtype.size_in_bytes());
        elements.start * size..elements.end * size
    }

    /// Whether a buffer of the given form contains no data before the operation, and the operation
    /// must write every element.
    pub fn is_output_alone(&self, form: Form) -> bool {
        self.values.is_none() && self.named[self.elements(form)].iter().all(|&named| named)
    }

    /// Returns the whole buffer between guard bands, with poison wherever the layout has no
    /// element.
    pub fn bytes(&self, poison: u8) -> Vec<u8> {
        let mut bytes = vec![poison; self.placed.len * self.dtype.size_in_bytes()];
        if let Some(values) = &self.values {
            by_size!(self.dtype, N => {
                let slots = bytes.as_chunks_mut::<N>().0.iter_mut().zip(&self.named).filter(|(_, n)| **n);
                slots.zip(values.as_chunks::<N>().0).for_each(|((slot, _), value)| *slot = *value);
            });
        }
        bytes
    }

    /// Returns the bytes of the elements in memory order; empty for an output.
    pub fn values(&self) -> &[u8] {
        self.values.as_deref().unwrap_or_default()
    }

    /// Returns the first element's value, or a zero if there is none.
    pub fn first(&self) -> Scalar {
        let size = self.dtype.size_in_bytes();
        match self.values().get(..size) {
            Some(element) => Scalar::from_bits(self.dtype, bits_at(self.dtype, element, 0)),
            None => Scalar::zero(self.dtype),
        }
    }

    /// Returns the first element outside the layout that a run changed.
    pub fn stray(&self, before: &[u8], after: &[u8]) -> Option<usize> {
        by_size!(self.dtype, N => {
            let pairs = before.as_chunks::<N>().0.iter().zip(after.as_chunks::<N>().0);
            pairs.zip(&self.named).position(|((b, a), named)| !named && a != b)
        })
    }

    /// Returns the first element of the layout that holds the poison in both runs, which means that
    /// nothing wrote it, and the number of such elements.
    pub fn unwritten(&self, first: &[u8], second: &[u8]) -> Option<(usize, usize)> {
        if self.values.is_some() {
            return None;
        }
        by_size!(self.dtype, N => {
            let pairs = first.as_chunks::<N>().0.iter().zip(second.as_chunks::<N>().0).zip(&self.named);
            let mut unwritten = pairs
                .enumerate()
                .filter(|(_, ((a, b), named))| **named && **a == [POISONS[0]; N] && **b == [POISONS[1]; N])
                .map(|(i, _)| i);
            let first = unwritten.next()?;
            Some((first, 1 + unwritten.count()))
        })
    }

    /// Returns the elements of the layout in logical order.
    pub fn gather(&self, bytes: &[u8]) -> Vec<u8> {
        let size = self.dtype.size_in_bytes();
        if let Some((start, end)) = self.placed.layout.contiguous_offsets() {
            return bytes[start * size..end * size].to_vec();
        }
        by_size!(self.dtype, N => {
            let elements = bytes.as_chunks::<N>().0;
            let mut gathered = Vec::with_capacity(self.placed.layout.shape().elem_count() * N);
            self.placed.each(|i| gathered.extend_from_slice(&elements[i]));
            gathered
        })
    }

    /// Returns the logical index of the element at a position of the buffer.
    pub fn logical_index(&self, place: usize) -> Option<usize> {
        self.placed.layout.strided_index().position(|i| i == place)
    }

    /// Returns the offset in bytes of an element from the start of the buffer between the guard
    /// bands.
    pub fn byte_offset(&self, place: usize) -> i64 {
        (place as i64 - GUARD as i64) * self.dtype.size_in_bytes() as i64
    }
}

/// Packs the low bytes of each value.
pub fn pack(dtype: DType, bits: &[u64]) -> Vec<u8> {
    by_size!(dtype, N => {
        bits.iter()
            .flat_map(|b| {
                let bytes = b.to_ne_bytes();
                let from = if cfg!(target_endian = "little") { 0 } else { 8 - N };
                <[u8; N]>::try_from(&bytes[from..from + N]).expect("N bytes of eight")
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_write_shows_over_either_poison() {
        let mut spec = LayoutSpec::contiguous(1);
        spec.0[0].after = 1;
        let buffer = Buffer::new(DType::F32, &spec, &[3], None);
        let gap = GUARD + 3;
        for poison in POISONS {
            let before = buffer.bytes(poison);
            let written = |element: usize| {
                let mut after = before.clone();
                after[element * 4] ^= 1;
                buffer.stray(&before, &after)
            };
            assert_eq!(written(GUARD), None, "an element of the layout");
            assert_eq!(written(gap), Some(gap), "after {poison:#x}");
            assert_eq!(written(0), Some(0), "after {poison:#x}");
        }
    }
}

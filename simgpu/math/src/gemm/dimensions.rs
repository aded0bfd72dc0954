//! What every vendor asks of the dimensions of a product.

use super::Form;

/// The sizes m, n, k of a product op(A) op(B), and what A and B are taken for.
#[derive(Debug, Clone, Copy)]
pub struct Dimensions {
    /// op(A) is m x k, op(B) k x n, the result m x n.
    pub sizes: [i64; 3],
    /// The forms of A and B.
    pub forms: [Form; 2],
}

impl Dimensions {
    /// No size is negative.
    pub fn are_sizes(&self) -> bool {
        self.sizes.iter().all(|&size| size >= 0)
    }

    /// The rows that A, B and the result are stored with: no leading dimension may be below its
    /// matrix's.
    pub fn rows(&self) -> [i64; 3] {
        let [m, n, k] = self.sizes;
        let [a, b] = self.forms.map(|form| form == Form::Plain);
        [if a { m } else { k }, if b { k } else { n }, m]
    }

    /// The result has no elements. A product over no k has, and scales them.
    pub fn is_empty(&self) -> bool {
        self.sizes[0] == 0 || self.sizes[1] == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Dimensions, Form};

    #[test]
    fn rows_depend_on_what_a_matrix_is_taken_for() {
        let rows = |a, b| Dimensions { sizes: [2, 3, 5], forms: [a, b] }.rows();
        assert_eq!(rows(Form::Plain, Form::Plain), [2, 5, 2]);
        assert_eq!(rows(Form::Transposed, Form::Plain), [5, 5, 2]);
        assert_eq!(rows(Form::Plain, Form::ConjugateTransposed), [2, 3, 2]);
    }

    #[test]
    fn empty_and_negative_sizes() {
        let of = |sizes| Dimensions { sizes, forms: [Form::Plain; 2] };
        assert!(of([0, 1, 1]).is_empty() && of([1, 0, 1]).is_empty() && !of([1, 1, 0]).is_empty());
        assert!(of([0, 0, 0]).are_sizes());
        for at in 0..3 {
            let mut sizes = [1; 3];
            sizes[at] = -1;
            assert!(!of(sizes).are_sizes(), "size {at}");
        }
    }
}

//! Checks of a product's dimensions that every vendor requires.

use super::Form;

/// The sizes m, n, k of a product op(A) op(B), and the forms in which A and B are used.
#[derive(Debug, Clone, Copy)]
pub struct Dimensions {
    /// op(A) is m x k, op(B) k x n, the result m x n.
    pub sizes: [i64; 3],
    /// The forms of A and B.
    pub forms: [Form; 2],
}

impl Dimensions {
    /// Whether all sizes are non-negative.
    pub fn are_sizes(&self) -> bool {
        self.sizes.iter().all(|&size| size >= 0)
    }

    /// Returns the number of rows with which A, B and the result are stored. No leading dimension
    /// may be smaller than its matrix's number of rows.
    pub fn rows(&self) -> [i64; 3] {
        let [m, n, k] = self.sizes;
        let [a, b] = self.forms.map(|form| form == Form::Plain);
        [if a { m } else { k }, if b { k } else { n }, m]
    }

    /// Whether the result has no elements. A product with k = 0 has elements and scales them.
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

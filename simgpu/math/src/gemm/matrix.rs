//! Matrices in the simulated memory: column-major, with several of one shape in a batch.

use isobit_simgpu_library_common::Access;

/// How a product uses a stored matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As stored.
    Plain,
    /// As its transpose.
    Transposed,
    /// As its conjugate transpose.
    ConjugateTransposed,
}

/// Where the matrices of a batch lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// At this distance in elements, starting at the address.
    Strided(i64),
    /// At the pointers that are stored at the address.
    Pointers,
}

/// The matrices of one operand. They may be unaligned.
#[derive(Debug, Clone, Copy)]
pub struct Matrix {
    /// The exposed address of the first matrix, or of the pointers to the matrices.
    pub address: usize,
    /// The distance from one column to the next, in elements.
    pub leading: usize,
    /// Where the matrices lie.
    pub batch: Batch,
    /// The form in which the product uses them.
    pub form: Form,
}

impl Matrix {
    /// Returns one matrix of the batch, or `None` if the simulator refuses the read of its pointer.
    ///
    /// # Safety
    /// If the access is allowed, the pointers are valid.
    pub(super) unsafe fn view<T>(&self, batch: usize, what: &str, access: &Access<'_>) -> Option<View<T>> {
        let address = match self.batch {
            Batch::Strided(stride) => {
                let bytes = (batch as i64).wrapping_mul(stride).wrapping_mul(size_of::<T>() as i64);
                self.address.wrapping_add(bytes as usize)
            }
            Batch::Pointers => {
                let at = std::ptr::with_exposed_provenance::<usize>(self.address).wrapping_add(batch);
                if !access(at.cast(), size_of::<usize>(), false, &format!("{what}, its pointer")) {
                    return None;
                }
                // SAFETY: the access was allowed.
                unsafe { at.read_unaligned() }
            }
        };
        Some(View { start: std::ptr::with_exposed_provenance(address), leading: self.leading, form: self.form })
    }
}

/// One matrix, as stored.
pub(super) struct View<T> {
    start: *const T,
    leading: usize,
    pub(super) form: Form,
}

impl<T: Copy> View<T> {
    /// Whether a matrix of `rows` and `columns`, counted in the form in which it is used, may be
    /// read or written. Gaps between its columns are not checked.
    pub(super) fn allowed(&self, rows: usize, columns: usize, write: bool, what: &str, access: &Access<'_>) -> bool {
        let (rows, columns) = if self.form == Form::Plain { (rows, columns) } else { (columns, rows) };
        let bytes = |elements: usize| elements.saturating_mul(size_of::<T>());
        if self.leading == rows || columns == 1 {
            return access(self.start.cast(), bytes(rows.saturating_mul(columns)), write, what);
        }
        (0..columns).all(|j| access(self.at_stored(0, j).cast(), bytes(rows), write, what))
    }

    fn at_stored(&self, row: usize, column: usize) -> *const T {
        self.start.wrapping_add(row.wrapping_add(column.wrapping_mul(self.leading)))
    }

    pub(super) fn at(&self, row: usize, column: usize) -> *const T {
        if self.form == Form::Plain { self.at_stored(row, column) } else { self.at_stored(column, row) }
    }

    /// # Safety
    /// The element may be read.
    pub(super) unsafe fn read(&self, row: usize, column: usize) -> T {
        // SAFETY: the caller promises that the element may be read.
        unsafe { self.at(row, column).read_unaligned() }
    }
}

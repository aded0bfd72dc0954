//! Matrices in the simulated memory: column-major, several of a shape in a batch.

use isobit_simgpu_library_common::Access;

/// What a product takes a stored matrix for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Itself.
    Plain,
    /// Its transpose.
    Transposed,
    /// The conjugate of its transpose.
    ConjugateTransposed,
}

/// Where the matrices of a batch lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// So many elements apart, from the address on.
    Strided(i64),
    /// Wherever the pointers say that the address is of.
    Pointers,
}

/// The matrices of one operand. Nothing says that they are aligned.
#[derive(Debug, Clone, Copy)]
pub struct Matrix {
    /// The exposed address of the first one, or of the pointers to them.
    pub address: usize,
    /// Elements from one column to the next.
    pub leading: usize,
    /// Where they lie.
    pub batch: Batch,
    /// What they are taken for.
    pub form: Form,
}

impl Matrix {
    /// One matrix of the batch, `None` where the simulator refuses its pointer.
    ///
    /// # Safety
    /// Where the access is allowed, the pointers are there.
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
                // SAFETY: it was allowed.
                unsafe { at.read_unaligned() }
            }
        };
        Some(View { start: std::ptr::with_exposed_provenance(address), leading: self.leading, form: self.form })
    }
}

/// One matrix as stored numbers.
pub(super) struct View<T> {
    start: *const T,
    leading: usize,
    pub(super) form: Form,
}

impl<T: Copy> View<T> {
    /// Whether a matrix of so many rows and columns, in the form it is taken for, may be read or
    /// written. What lies between its columns is none of its business.
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

//! The position of each matrix element in the registers: "Matrix Fragments for mma" of the PTX ISA,
//! for 8-bit elements and 32-bit sums.

/// A shape: an `m` by `k` matrix times a `k` by `n` matrix; `n` is 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the first matrix, and of the sum.
    pub m: usize,
    /// Columns of the first matrix, and rows of the second.
    pub k: usize,
}

/// Columns of the second matrix, and of the sum.
pub const N: usize = 8;

impl Shape {
    /// Returns the shape with a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "m8n8k16" => Some(Self { m: 8, k: 16 }),
            "m16n8k16" => Some(Self { m: 16, k: 16 }),
            "m16n8k32" => Some(Self { m: 16, k: 32 }),
            _ => None,
        }
    }

    /// Returns the number of registers of the first matrix; each holds four elements.
    pub fn a_registers(self) -> usize {
        self.m * self.k / 128
    }

    /// Returns the number of registers of the second matrix.
    pub fn b_registers(self) -> usize {
        self.k * N / 128
    }

    /// Returns the number of registers of the sum.
    pub fn c_registers(self) -> usize {
        self.m * N / 32
    }

    /// Returns row and column of the first of a lane's four elements in a register of the first
    /// matrix; the others follow in the row.
    pub fn a_at(self, lane: usize, register: usize) -> (usize, usize) {
        // Consecutive registers first go down the rows.
        let rows = self.m / 8;
        (lane / 4 + 8 * (register % rows), lane % 4 * 4 + 16 * (register / rows))
    }

    /// Returns row and column of the first of the four elements in a register of the second matrix;
    /// the others follow in the column.
    pub fn b_at(self, lane: usize, register: usize) -> (usize, usize) {
        (lane % 4 * 4 + 16 * register, lane / 4)
    }

    /// Returns row and column of a register of the sum.
    pub fn c_at(self, lane: usize, register: usize) -> (usize, usize) {
        (lane / 4 + 8 * (register / 2), lane % 4 * 2 + register % 2)
    }
}

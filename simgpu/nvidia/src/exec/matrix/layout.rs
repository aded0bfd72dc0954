//! The position of each matrix element in the registers: "Matrix Fragments for mma" of the PTX ISA,
//! for 8-bit integers, four to a register, and for f64.

use crate::exec::LANES;

/// A shape: an `m` by `k` matrix times a `k` by `n` matrix; `n` is 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the first matrix, and of the sum.
    pub m: usize,
    /// Columns of the first matrix, and rows of the second.
    pub k: usize,
    /// Neighbours along k in each register of the two matrices.
    pub packed: usize,
}

/// Columns of the second matrix, and of the sum.
pub const N: usize = 8;

impl Shape {
    /// Returns the shape of products of 8-bit integers with a name.
    pub fn of_bytes(name: &str) -> Option<Self> {
        let (m, k) = match name {
            "m8n8k16" => (8, 16),
            "m16n8k16" => (16, 16),
            "m16n8k32" => (16, 32),
            _ => return None,
        };
        Some(Self { m, k, packed: 4 })
    }

    /// Returns the shape of products of f64 with a name.
    pub fn of_doubles(name: &str) -> Option<Self> {
        let (m, k) = match name {
            "m8n8k4" => (8, 4),
            "m16n8k4" => (16, 4),
            "m16n8k8" => (16, 8),
            "m16n8k16" => (16, 16),
            _ => return None,
        };
        Some(Self { m, k, packed: 1 })
    }

    /// Returns the number of registers of the first matrix.
    pub fn a_registers(self) -> usize {
        self.m * self.k / (LANES * self.packed)
    }

    /// Returns the number of registers of the second matrix.
    pub fn b_registers(self) -> usize {
        self.k * N / (LANES * self.packed)
    }

    /// Returns the number of registers of the sum.
    pub fn c_registers(self) -> usize {
        self.m * N / LANES
    }

    /// Returns row and column of the first of a lane's elements in a register of the first matrix;
    /// the others follow in the row.
    pub fn a_at(self, lane: usize, register: usize) -> (usize, usize) {
        // Consecutive registers first go down the rows.
        let rows = self.m / 8;
        (lane / 4 + 8 * (register % rows), (lane % 4 + 4 * (register / rows)) * self.packed)
    }

    /// Returns row and column of the first of the elements in a register of the second matrix; the
    /// others follow in the column.
    pub fn b_at(self, lane: usize, register: usize) -> (usize, usize) {
        ((lane % 4 + 4 * register) * self.packed, lane / 4)
    }

    /// Returns row and column of a register of the sum.
    pub fn c_at(self, lane: usize, register: usize) -> (usize, usize) {
        (lane / 4 + 8 * (register / 2), lane % 4 * 2 + register % 2)
    }
}

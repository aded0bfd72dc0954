//! Graphs of several operations, which one engine computes at once: its operations in their order,
//! for one matrix at a time.

mod attention;
mod launch;
mod mode;
mod number;

pub(crate) use attention::Attention;
pub(crate) use launch::{Launch, Source};
pub(crate) use mode::{Mode, Reduce};
pub(crate) use number::Number;

use crate::problem::{BFLOAT16, HALF};
use isobit_simgpu_math::convolution::Tensor as Layout;
use std::ffi::c_int;

/// Where the elements of a tensor are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the device's memory.
    Memory,
    /// One number in the host's memory, which is read when the graph is executed.
    Host,
    /// Nowhere: one operation hands them to others.
    Virtual,
}

/// A tensor: a matrix for each batch entry and head. The fifth size of the layout is 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tensor {
    pub(crate) id: i64,
    pub(crate) data_type: c_int,
    pub(crate) layout: Layout,
    pub(crate) place: Place,
    /// The alignment of its address in bytes.
    pub(crate) alignment: usize,
}

impl Tensor {
    /// Returns the numbers of batch entries, heads, rows and columns.
    fn dims(&self) -> [usize; 4] {
        let [batch, heads, rows, columns, _] = self.layout.dims;
        [batch, heads, rows, columns]
    }

    /// Whether an element has two bytes; others in memory have four.
    fn is_half(&self) -> bool {
        [HALF, BFLOAT16].contains(&self.data_type)
    }

    /// Reads the number of a tensor by value.
    ///
    /// # Safety
    /// The exposed address is one of a number of the tensor's type.
    pub(crate) unsafe fn value(&self, address: usize) -> Number {
        let at = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the caller promises a number of this size.
        let bits = unsafe {
            if self.is_half() { at.cast::<u16>().read_unaligned().into() } else { at.cast::<u32>().read_unaligned() }
        };
        Number::of_bits(bits, self.data_type)
    }
}

/// An operation on tensors, which are places in the graph's list.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) action: Action,
    pub(crate) inputs: Vec<usize>,
    pub(crate) to: usize,
    /// The type in which it is computed.
    pub(crate) precision: c_int,
}

/// What an operation does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// A product of the first two inputs. The sizes m, n and k of each batch entry are those of
    /// other tensors where these are given.
    Matmul {
        sizes: [Option<usize>; 3],
    },
    Pointwise {
        mode: Mode,
        /// The axis of an index.
        axis: usize,
    },
    Reduce(Reduce),
}

/// A graph. Each tensor is written at most once, before it is read.
#[derive(Debug, Clone)]
pub(crate) struct Fused {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) operations: Vec<Operation>,
}

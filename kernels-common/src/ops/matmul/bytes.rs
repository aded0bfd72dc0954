//! Products of bytes with zero points: what their kernels take besides operands and sizes.

use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, MatmulInteger, Src};
use std::mem::offset_of;

/// What makes signed bytes of unsigned ones, less 128.
pub(super) const FLIP: u32 = 0x8080_8080;

/// An operand's zero points, and whether its bytes are unsigned.
#[derive(Debug, Clone, Copy)]
struct Zeros {
    /// The first zero point; `None` if there is none.
    ptr: Option<DevicePtr>,
    /// Bytes from the zero point of one line to that of the next.
    stride: usize,
    is_unsigned: bool,
}

/// The zero points of both operands.
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct ZeroPoints([Zeros; 2]);

/// The layout of the kernels' `Bytes`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes {
    zero_strides: [u64; 2],
    flips: [u32; 2],
    has_zeros: u32,
    unused: u32,
}

const _: () = assert!(size_of::<Bytes>() == 32);
const _: () = assert!(offset_of!(Bytes, flips) == 16 && offset_of!(Bytes, has_zeros) == 24);

impl ZeroPoints {
    /// Returns those of a validated call.
    pub fn of<R: GpuRuntime>(op: MatmulInteger, srcs: &[Src<'_, GpuStorage<R>>]) -> Self {
        let mut both =
            [0, 1].map(|side| Zeros { ptr: None, stride: 0, is_unsigned: stored(srcs, side).0.dtype() == DType::U8 });
        for (side, input) in op.zero_points().zip(2..) {
            let (storage, layout) = stored(srcs, input);
            both[side].ptr = Some(storage.ptr().at(storage.dtype(), layout.start_offset()));
            both[side].stride = match (layout.dims(), layout.stride()) {
                (&[lines], &[stride]) if lines > 1 => stride,
                _ => 0,
            };
        }
        Self(both)
    }

    /// Whether the bytes of a side are unsigned.
    pub(super) fn is_unsigned(&self, side: usize) -> bool {
        self.0[side].is_unsigned
    }

    /// Whether zero points of a side, of bytes that became signed, may be others than 0.
    pub(super) fn may_be_others_than_0(&self, side: usize) -> bool {
        self.0[side].ptr.is_some() || self.0[side].is_unsigned
    }

    /// Returns those of the transposed product.
    pub fn transposed(self) -> Self {
        let Self([a, b]) = self;
        Self([b, a])
    }

    /// Returns those of what follows so many lines of both operands.
    pub fn after(self, lines: [usize; 2]) -> Self {
        let [a, b] = self.0;
        let of = |zeros: Zeros, lines: usize| {
            let ptr = zeros.ptr.map(|ptr| ptr.at(DType::U8, lines * zeros.stride));
            Zeros { ptr, ..zeros }
        };
        Self([of(a, lines[0]), of(b, lines[1])])
    }

    /// Returns the addresses of the first zero points. No kernel reads from that of an operand
    /// without.
    pub(super) fn addresses(&self) -> [DevicePtr; 2] {
        self.0.map(|zeros| zeros.ptr.unwrap_or(DevicePtr(0)))
    }

    pub(super) fn bytes(&self) -> Bytes {
        let has = self.0.map(|zeros| u32::from(zeros.ptr.is_some()));
        Bytes {
            zero_strides: self.0.map(|zeros| zeros.stride as u64),
            flips: self.0.map(|zeros| if zeros.is_unsigned { FLIP } else { 0 }),
            has_zeros: has[0] | has[1] << 1,
            unused: 0,
        }
    }
}

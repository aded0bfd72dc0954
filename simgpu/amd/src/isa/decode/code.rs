//! The bits of one instruction, checked against its table row.

use super::Failure;
use crate::isa::inst::Arch;
use crate::isa::table::Row;

/// An instruction's words and its row. A literal is read when the first operand needs it, which
/// makes the instruction longer.
pub(super) struct Code<'a> {
    arch: Arch,
    row: &'static Row,
    bits: u128,
    bytes: &'a [u8],
    size: usize,
    literal: Option<u32>,
}

impl<'a> Code<'a> {
    /// Takes the first `size` of `bytes`. Their fixed bits must match the row.
    pub(super) fn new(arch: Arch, row: &'static Row, bytes: &'a [u8], size: usize) -> Result<Self, Failure> {
        let mut all = [0; 16];
        let Some(own) = bytes.get(..size) else {
            return Err(format!("{} needs {size} bytes, but {} are left", row.mnemonic, bytes.len()));
        };
        all[..size].copy_from_slice(own);
        let bits = u128::from_le_bytes(all);
        let wrong = (bits ^ row.value) & row.fixed;
        if wrong != 0 {
            let places: Vec<String> = (0..128).filter(|i| wrong >> i & 1 == 1).map(|i| i.to_string()).collect();
            return Err(format!(
                "{} does not have the modifier or operand in bits {}",
                row.mnemonic,
                places.join(", ")
            ));
        }
        Ok(Self { arch, row, bits: bits & !row.ignored, bytes, size, literal: None })
    }

    pub(super) const fn arch(&self) -> Arch {
        self.arch
    }

    pub(super) const fn row(&self) -> &'static Row {
        self.row
    }

    /// Returns the size in bytes so far, including the literal once it has been read.
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// Returns the field of `width` bits that starts at bit `low`.
    pub(super) const fn field(&self, low: u32, width: u32) -> u32 {
        ((self.bits >> low) & ((1 << width) - 1)) as u32
    }

    /// Returns the same field as a signed number.
    pub(super) const fn signed(&self, low: u32, width: u32) -> i32 {
        (self.field(low, width) << (32 - width)) as i32 >> (32 - width)
    }

    /// Returns one bit.
    pub(super) const fn bit(&self, low: u32) -> bool {
        self.field(low, 1) == 1
    }

    /// Returns the literal that follows the instruction.
    pub(super) fn literal(&mut self) -> Result<u32, Failure> {
        if let Some(known) = self.literal {
            return Ok(known);
        }
        let Some(bytes) = self.bytes.get(self.size..).and_then(|rest| rest.first_chunk()) else {
            return Err(format!("{} has a literal after the end of the code", self.row.mnemonic));
        };
        self.size += 4;
        let value = u32::from_le_bytes(*bytes);
        self.literal = Some(value);
        Ok(value)
    }
}

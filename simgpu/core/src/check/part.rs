//! Accesses of which only a part lies in memory.
//!
//! A real card makes such an access: it reads and writes the bytes inside as of any other access.
//! Compilers rely on it. They turn loads of three words into one of four if the alignment shows
//! that the fourth cannot fault. So the bytes inside are accessed here too; the bytes outside read
//! as zero and are not written.

use super::{Access, Launch};
use crate::finding::FindingKind;
use crate::memory::ALIGN;
use std::ops::Range;

/// Maximum bytes that one lane moves between memory and its vector registers.
pub const MOST_BYTES: usize = 32;

/// The bytes of an access that lie in a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The address of the first of them.
    pub address: u64,
    /// The number of bytes of the access before them.
    pub skipped: usize,
    /// Their number, which is not zero.
    pub bytes: usize,
}

impl Part {
    /// Returns the part of the `bytes` bytes at `address` that lies in `memory`. Addresses wrap, so
    /// that a negative address is shortly before address 0.
    pub fn of(memory: Range<u64>, address: u64, bytes: u64) -> Option<Self> {
        let before = memory.start.wrapping_sub(address);
        let skipped = if before < bytes { before } else { 0 };
        let first = address.wrapping_add(skipped);
        memory.contains(&first).then(|| Self {
            address: first,
            skipped: skipped as usize,
            bytes: (bytes - skipped).min(memory.end - first) as usize,
        })
    }
}

/// Returns the kind of error of an access of `bytes` bytes at `address` that does not lie in
/// `memory` as a whole. A card allocates this memory in units of `unit` bytes, so that a load that
/// starts inside and stays in the last unit cannot fault.
pub fn error(access: Access, memory: &Range<u64>, unit: u64, address: u64, bytes: u64) -> FindingKind {
    let rounded = (memory.end - memory.start).next_multiple_of(unit);
    let harmless = !access.writes() && memory.contains(&address) && bytes <= rounded - (address - memory.start);
    if harmless { FindingKind::OverRead } else { FindingKind::OutOfBounds }
}

/// As [`error`], for global and constant memory. Any card aligns its allocations to 256 bytes at
/// least: the CUDA programming guide says so of every variable and allocation ("Device Memory
/// Accesses"), and the memory pools of HSA, under HIP, allocate whole pages.
pub fn global_error(access: Access, memory: &Range<u64>, address: u64, bytes: u64) -> FindingKind {
    error(access, memory, ALIGN, address, bytes)
}

/// Makes an access with lanes that lie only partly in memory. For those in `clipped`, `make` gets
/// the place of a copy, which holds zeros except for the lane's `part`; what a store leaves in the
/// part is written back. All other lanes keep their `places`.
///
/// `part` returns the part of a lane with the place of its first byte in this process.
///
/// # Safety
/// `part` returns a part of the lane's access, so that it ends within [`MOST_BYTES`] bytes of the
/// access's beginning, and a place at which its bytes may be accessed as `access` does. `make`
/// accesses at most [`MOST_BYTES`] bytes at the place of a lane in `clipped`.
#[cold]
pub unsafe fn apart<const LANES: usize>(
    access: Access,
    clipped: u64,
    places: &[*mut u8; LANES],
    part: impl Fn(usize) -> Option<(Part, *mut u8)>,
    make: impl FnOnce(&[*mut u8; LANES]),
) {
    let mut copies = [[0; MOST_BYTES]; LANES];
    let mut parts = [None; LANES];
    let mut places = *places;
    for (lane, copy) in copies.iter_mut().enumerate().filter(|(lane, _)| clipped >> lane & 1 != 0) {
        let copy = copy.as_mut_ptr();
        places[lane] = copy;
        // The caller promises that the part lies within the copy.
        parts[lane] = part(lane).map(|(part, place)| (place, copy.wrapping_add(part.skipped), part.bytes));
        if access.reads()
            && let Some((place, copy, bytes)) = parts[lane]
        {
            // SAFETY: the caller promises that the part may be read, and the copy has room for it.
            unsafe { copy.copy_from_nonoverlapping(place, bytes) };
        }
    }
    make(&places);
    if access.writes() {
        for (place, copy, bytes) in parts.into_iter().flatten() {
            // SAFETY: the caller promises that the part may be written.
            unsafe { place.copy_from_nonoverlapping(copy, bytes) };
        }
    }
}

impl Launch<'_> {
    /// Returns the part of an access to global memory that one live allocation contains, unless the
    /// access may not be made there.
    pub fn part(&self, access: Access, address: u64, bytes: u32) -> Option<Part> {
        let found = self.table.reached(address, bytes.into())?;
        let allowed = found.kind.writable() || !access.writes();
        Part::of(found.range(), address, bytes.into()).filter(|_| allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_has_the_bytes_that_lie_inside(
            start in prop_oneof![Just(0u64), 1u64..200], length in 0u64..40, at in -70i64..300, bytes in 1u64..65,
        ) {
            let memory = start..start + length;
            let inside = |i: &u64| u64::try_from(at + *i as i64).is_ok_and(|byte| memory.contains(&byte));
            let want: Vec<u64> = (0..bytes).filter(inside).collect();
            let part = Part::of(memory.clone(), at as u64, bytes);
            let have = part.map_or(0..0, |part| part.skipped as u64..(part.skipped + part.bytes) as u64);
            prop_assert_eq!(have.collect::<Vec<_>>(), want);
            if let Some(part) = part {
                prop_assert_eq!(part.address as i64, at + part.skipped as i64);
            }
        }
    }

    #[test]
    fn a_load_that_starts_inside_may_reach_the_end_of_the_last_unit() {
        use FindingKind::{OutOfBounds, OverRead};
        let memory = 4096..4096 + 540;
        for (access, offset, bytes, kind) in [
            (Access::Load, 528, 16, OverRead),
            (Access::AtomicLoad, 536, 8, OverRead),
            (Access::Load, 539, 229, OverRead),
            (Access::Load, 539, 230, OutOfBounds),
            (Access::Load, 540, 4, OutOfBounds),
            (Access::Load, -4, 16, OutOfBounds),
            (Access::Load, -4, 1000, OutOfBounds),
            (Access::Store, 528, 16, OutOfBounds),
            (Access::AtomicStore, 528, 16, OutOfBounds),
            (Access::Atomic, 536, 8, OutOfBounds),
        ] {
            let address = 4096u64.wrapping_add_signed(offset);
            assert_eq!(global_error(access, &memory, address, bytes), kind, "{access:?} at {offset}");
            assert_eq!(error(access, &memory, 1, address, bytes), OutOfBounds, "{access:?} at {offset}");
        }
    }

    #[test]
    fn what_lies_outside_is_zero_and_is_not_written() {
        let mut memory: [u8; 8] = std::array::from_fn(|i| i as u8 + 1);
        let start = memory.as_mut_ptr();
        let mut own = [9u8; 8];
        let places = [start.wrapping_add(6), own.as_mut_ptr(), start.wrapping_sub(2), start.wrapping_add(99)];
        let part = |lane: usize| {
            let address = [6, 0, u64::MAX - 1, 99][lane];
            let part = Part::of(0..8, address, 4)?;
            Some((part, start.wrapping_add(part.address as usize)))
        };
        let mut seen = [[0; 4]; 4];
        let load = |places: &[*mut u8; 4]| {
            // SAFETY: each place is that of a copy of 32 bytes, or of the eight own ones.
            seen = places.map(|place| unsafe { place.cast::<[u8; 4]>().read() });
        };
        // SAFETY: the parts lie in `memory`, and the function reads four bytes.
        unsafe { apart(Access::Load, 0b1101, &places, part, load) };
        assert_eq!(seen, [[7, 8, 0, 0], [9; 4], [0, 0, 1, 2], [0; 4]]);
        let store = |places: &[*mut u8; 4]| {
            for (place, byte) in places.iter().zip(20..) {
                // SAFETY: as for the load.
                unsafe { place.cast::<[u8; 4]>().write([byte; 4]) };
            }
        };
        // SAFETY: as for the load.
        unsafe { apart(Access::Store, 0b101, &[places[0], places[1], places[2], own.as_mut_ptr()], part, store) };
        assert_eq!(memory, [22, 22, 3, 4, 5, 6, 20, 20]);
        assert_eq!(own, [23, 23, 23, 23, 9, 9, 9, 9]);
    }
}

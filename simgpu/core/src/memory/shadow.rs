//! The shadow state of every byte of the arena: whether it was written, and its last accesses.

use super::reserve::Reservation;
use std::io;
use std::sync::atomic::AtomicU64;

/// Bytes of the arena that one block word describes.
pub(crate) const BLOCK: u64 = 64;

/// The shadows of an arena, addressed by offset.
pub(crate) struct Shadow {
    /// One byte per byte: 1 if it was written.
    init: Reservation,
    /// One word per block of [`BLOCK`] bytes.
    blocks: Reservation,
    /// Two words per granule, one for writers and one for readers. A launch chooses the size of its
    /// granules; there is room for granules of one byte.
    granules: Reservation,
}

const ONES: u64 = 0x0101_0101_0101_0101;

impl Shadow {
    pub(super) fn new(capacity: usize) -> io::Result<Self> {
        Ok(Self {
            init: Reservation::new(capacity)?,
            blocks: Reservation::new(capacity / BLOCK as usize * 8)?,
            granules: Reservation::new(capacity * 16)?,
        })
    }

    pub(super) fn commit(&self, top: usize) -> io::Result<()> {
        self.init.commit(top)?;
        self.blocks.commit(top.div_ceil(BLOCK as usize) * 8)?;
        self.granules.commit(top * 16)
    }

    /// Returns the word of block `index`.
    ///
    /// # Safety
    ///
    /// The block must be in committed memory of the arena.
    #[inline(always)]
    pub(crate) unsafe fn block(&self, index: u64) -> &AtomicU64 {
        // SAFETY: the word is inside the reservation, as the caller promises. Words are aligned
        // and accessed only as atomics (or cleared while no launch runs).
        unsafe { &*self.blocks.base().cast::<AtomicU64>().add(index as usize) }
    }

    /// Returns the writer's and the reader's word of granule `index`.
    ///
    /// # Safety
    ///
    /// The granule must be in committed memory of the arena.
    #[inline(always)]
    pub(crate) unsafe fn granule(&self, index: u64) -> &[AtomicU64; 2] {
        // SAFETY: as in `block`.
        unsafe { &*self.granules.base().cast::<[AtomicU64; 2]>().add(index as usize) }
    }

    /// Whether all `bytes` bytes from `offset` were written.
    ///
    /// # Safety
    ///
    /// They must be in committed memory of the arena.
    #[inline(always)]
    pub(crate) unsafe fn initialised(&self, offset: u64, bytes: u64) -> bool {
        // SAFETY: the bytes are inside the reservation, as the caller promises. While launches
        // run, shadow bytes can only become 1. A kernel that reads a byte while another thread
        // writes it has a race, which the race check reports, and reads 0 or 1 here.
        unsafe {
            let at = self.init.base().add(offset as usize);
            match bytes {
                1 => at.read() == 1,
                2 => at.cast::<u16>().read_unaligned() == ONES as u16,
                4 => at.cast::<u32>().read_unaligned() == ONES as u32,
                8 => at.cast::<u64>().read_unaligned() == ONES,
                _ => written(std::slice::from_raw_parts(at, bytes as usize)),
            }
        }
    }

    /// Returns the first of the `bytes` bytes from `offset` that nothing has written.
    ///
    /// # Safety
    ///
    /// As for [`initialised`](Self::initialised).
    pub(crate) unsafe fn first_unwritten(&self, offset: u64, bytes: u64) -> Option<u64> {
        // SAFETY: the caller promises what `initialised` requires.
        (offset..offset + bytes).find(|at| unsafe { self.init.base().add(*at as usize).read() } != 1)
    }

    /// Marks the `bytes` bytes from `offset` as written or as uninitialised.
    ///
    /// # Safety
    ///
    /// As for [`initialised`](Self::initialised).
    #[inline(always)]
    pub(crate) unsafe fn set_initialised(&self, offset: u64, bytes: u64, written: bool) {
        // SAFETY: the caller promises what `initialised` requires.
        unsafe {
            let at = self.init.base().add(offset as usize);
            match (bytes, written) {
                (4, true) => at.cast::<u32>().write_unaligned(ONES as u32),
                (_, true) => at.write_bytes(1, bytes as usize),
                (_, false) => self.init.zero(offset as usize, bytes as usize),
            }
        }
    }

    /// Copies the initialisation state of bytes. The ranges may overlap.
    ///
    /// # Safety
    ///
    /// Both ranges must be in committed memory of the arena.
    pub(crate) unsafe fn copy_initialised(&self, from: u64, to: u64, bytes: u64) {
        let base = self.init.base();
        // SAFETY: the caller promises that both ranges are in committed memory of the arena.
        unsafe { std::ptr::copy(base.add(from as usize), base.add(to as usize), bytes as usize) };
    }

    /// Forgets every access.
    ///
    /// # Safety
    /// No launch may run.
    pub(super) unsafe fn forget_accesses(&self) {
        // SAFETY: only launches use these words.
        unsafe {
            self.blocks.clear();
            self.granules.clear();
        }
    }
}

/// Whether each byte of `init` is 1.
#[inline(always)]
pub(crate) fn written(init: &[u8]) -> bool {
    let (words, rest) = init.as_chunks::<8>();
    let (parts, last) = words.as_chunks::<16>();
    // Plain loops are compiled with the target features of the caller; closures of iterators are
    // not.
    for part in parts {
        let mut all = ONES;
        for word in part {
            all &= u64::from_ne_bytes(*word);
        }
        if all != ONES {
            return false;
        }
    }
    let mut all = ONES;
    for word in last {
        all &= u64::from_ne_bytes(*word);
    }
    for byte in rest {
        all &= u64::from(*byte) * ONES;
    }
    all == ONES
}

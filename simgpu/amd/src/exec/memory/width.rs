//! The units that a lane moves between memory and its registers: sizes, extensions, and halves of
//! registers.

/// The largest number of registers that one lane moves.
pub const MOST: usize = 4;

/// The unit of a load or store for one lane.
pub trait Unit {
    /// Bytes in memory.
    const BYTES: u32;
    /// The number of registers.
    const WORDS: usize;

    /// Returns the contents of the registers after a load; `old` is the previous value of the first
    /// one.
    ///
    /// # Safety
    /// The bytes at `at` may be read.
    unsafe fn load(at: *const u8, old: u32) -> [u32; MOST];

    /// Stores from registers.
    ///
    /// # Safety
    /// The bytes at `at` may be written.
    unsafe fn store(at: *mut u8, words: [u32; MOST]);
}

/// Declares units of a single register: the value in memory, the register after a load, and the
/// part of it that is stored.
macro_rules! narrow {
    ($($(#[$doc:meta])* $name:ident: $type:ty, |$value:ident, $old:ident| $load:expr, |$word:ident| $store:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Unit for $name {
            const BYTES: u32 = size_of::<$type>() as u32;
            const WORDS: usize = 1;

            #[inline(always)]
            unsafe fn load(at: *const u8, $old: u32) -> [u32; MOST] {
                // SAFETY: as the caller promises; unaligned access is allowed.
                let $value = unsafe { at.cast::<$type>().read_unaligned() };
                [$load, 0, 0, 0]
            }

            #[inline(always)]
            unsafe fn store(at: *mut u8, [$word, ..]: [u32; MOST]) {
                // SAFETY: as the caller promises; unaligned access is allowed.
                unsafe { at.cast::<$type>().write_unaligned($store) };
            }
        }
    )*};
}

narrow! {
    /// A byte, zero-extended.
    U8: u8, |x, _old| u32::from(x), |word| word as u8;
    /// A byte, sign-extended.
    I8: i8, |x, _old| x as u32, |word| word as i8;
    /// Two bytes, zero-extended.
    U16: u16, |x, _old| u32::from(x), |word| word as u16;
    /// Two bytes, sign-extended.
    I16: i16, |x, _old| x as u32, |word| word as i16;
    /// Two bytes to the low half; keeps the high half.
    Low16: u16, |x, old| u32::from(x) | old & 0xffff_0000, |word| word as u16;
    /// Two bytes to the high half; keeps the low half.
    High16: u16, |x, old| u32::from(x) << 16 | old & 0xffff, |word| (word >> 16) as u16;
    /// A byte zero-extended to the low half; keeps the high half.
    LowU8: u8, |x, old| u32::from(x) | old & 0xffff_0000, |word| word as u8;
    /// A byte sign-extended to the low half; keeps the high half.
    LowI8: i8, |x, old| u32::from(x as u16) | old & 0xffff_0000, |word| word as i8;
    /// A byte zero-extended to the high half; keeps the low half.
    HighU8: u8, |x, old| u32::from(x) << 16 | old & 0xffff, |word| (word >> 16) as u8;
    /// A byte sign-extended to the high half; keeps the low half.
    HighI8: i8, |x, old| u32::from(x as u16) << 16 | old & 0xffff, |word| (word >> 16) as i8;
}

/// Whole registers.
pub struct Words<const N: usize>;

impl<const N: usize> Unit for Words<N> {
    const BYTES: u32 = 4 * N as u32;
    const WORDS: usize = N;

    #[inline(always)]
    unsafe fn load(at: *const u8, _: u32) -> [u32; MOST] {
        // SAFETY: as the caller promises; unaligned access is allowed.
        let from = unsafe { at.cast::<[u32; N]>().read_unaligned() };
        std::array::from_fn(|i| if i < N { from[i] } else { 0 })
    }

    #[inline(always)]
    unsafe fn store(at: *mut u8, words: [u32; MOST]) {
        let to: [u32; N] = std::array::from_fn(|i| words[i]);
        // SAFETY: as the caller promises; unaligned access is allowed.
        unsafe { at.cast::<[u32; N]>().write_unaligned(to) };
    }
}

//! Records of `printf` that kernels leave in a buffer (`-mprintf-kind=buffered`).
//!
//! The buffer begins with two words of four bytes: the bytes in use, which kernels increase
//! atomically, and the bytes that there are. A record is a control word of four bytes and its data:
//! bit 0 of the control word sends the text to the standard error, bit 1 says that the format is in
//! the code object's metadata and that the data begins with its hash, and the bits above are the
//! size of the record. Otherwise the data begins with the format itself.

use super::messages::{TO_ERROR, print};
use crate::loader::Formats;
use isobit_simgpu_core::print::Output;
use std::sync::atomic::{AtomicU32, Ordering};

/// The size of a buffer. Calls for which there is no room print nothing and return -1.
pub(super) const BYTES: usize = 1 << 20;
/// The bytes before the records.
const HEAD: usize = 8;
/// The control word, and its bit for a format of the metadata.
const CONTROL: usize = 4;
const HASHED: u32 = 2;

/// Empties a buffer, an allocation of [`BYTES`] bytes that no kernel uses.
pub(super) fn clear(base: u64) {
    // A kernel that failed may have left a part of a record, which must not look like a whole one
    // next time.
    let used = HEAD + used(base);
    // SAFETY: the allocation has more bytes than that, and no kernel uses it.
    unsafe { (base as *mut u8).write_bytes(0, used) };
    let room = (BYTES - HEAD) as u32;
    // SAFETY: as above; the address is a multiple of four.
    unsafe { AtomicU32::from_ptr((base + 4) as *mut u32) }.store(room, Ordering::Release);
}

/// Returns the bytes of the records.
fn used(base: u64) -> usize {
    // SAFETY: the buffer is live, and its address a multiple of four.
    let used = unsafe { AtomicU32::from_ptr(base as *mut u32) }.load(Ordering::Acquire);
    (used as usize).min(BYTES - HEAD)
}

/// Prints the records of a buffer, which no kernel uses any more.
///
/// # Errors
/// Fails at a record that is damaged, or whose format is unknown.
pub(super) fn print_all(base: u64, formats: &Formats, output: &Output) -> Result<(), String> {
    // SAFETY: the buffer is live and has these bytes, and no kernel writes them.
    let mut rest = unsafe { std::slice::from_raw_parts((base as usize + HEAD) as *const u8, used(base)) };
    while let Some((control, _)) = rest.split_first_chunk::<CONTROL>() {
        let control = u32::from_le_bytes(*control);
        let size = (control >> 2) as usize;
        let (record, after) = match rest.split_at_checked(size) {
            Some((record, after)) if size >= CONTROL => (&record[CONTROL..], after),
            _ => return Err(format!("a record of printf has {size} bytes, and {} are left", rest.len())),
        };
        rest = after;
        let words = match record.split_first_chunk::<8>() {
            Some((hash, arguments)) if control & HASHED != 0 => {
                let hash = u64::from_le_bytes(*hash);
                let format = formats.get(&hash).ok_or_else(|| {
                    format!("a record of printf names the format {hash:#x}, which the code object lacks")
                })?;
                let mut text = format.clone();
                text.resize((format.len() + 1).next_multiple_of(8), 0);
                text.extend_from_slice(arguments);
                words(&text)
            }
            _ => words(record),
        };
        print(u64::from(control) & TO_ERROR != 0, &words, output);
    }
    Ok(())
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

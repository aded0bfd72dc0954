//! What an image is that C gives as a pointer alone.

use crate::Code;
use crate::error::{Error, Result, bail};
use std::ffi::{CStr, c_void};

const ELF: [u8; 4] = *b"\x7fELF";

/// What a fat binary begins with: its own header, and the wrapper that compilers put around a
/// pointer to it.
const FAT: [[u8; 4]; 2] = [0xba55_ed50_u32.to_le_bytes(), 0x4662_43b1_u32.to_le_bytes()];

/// The text of an image.
///
/// # Errors
/// `CUDA_ERROR_NO_BINARY_FOR_GPU` for machine code, which simulated cards do not have: they take
/// PTX.
///
/// # Safety
/// `image` is null, or a whole cubin or fat binary, or a text that ends in NUL; it stays as long as
/// the result.
pub unsafe fn text<'a>(image: *const c_void) -> Result<&'a [u8]> {
    if image.is_null() {
        bail!(INVALID_VALUE, "the image is null");
    }
    let starts_with = |magic: [u8; 4]| {
        // SAFETY: not null, and as the caller promises. A text may have fewer than four bytes, but
        // then the NUL that ends it is among those that are read, and none behind it is.
        (0..4).all(|at| unsafe { image.cast::<u8>().add(at).read() } == magic[at])
    };
    if starts_with(ELF) {
        bail!(NO_BINARY_FOR_GPU, "the image is a cubin, which only a real card executes; simulated ones take PTX");
    }
    if FAT.into_iter().any(starts_with) {
        bail!(NO_BINARY_FOR_GPU, "the image is a fat binary; simulated cards take PTX alone");
    }
    // SAFETY: as the caller promises: whatever is neither of those is a text.
    Ok(unsafe { CStr::from_ptr(image.cast()) }.to_bytes())
}

/// The text of an image in a file.
///
/// # Errors
/// `CUDA_ERROR_FILE_NOT_FOUND`, and as [`text`].
pub(crate) fn of_file(path: &str) -> Result<Vec<u8>> {
    let mut file = std::fs::read(path).map_err(|error| Error::new(Code::FILE_NOT_FOUND, format!("{path}: {error}")))?;
    file.push(0);
    // SAFETY: the vector ends in NUL, outlives the call, and is as whole as the file.
    Ok(unsafe { text(file.as_ptr().cast()) }?.to_vec())
}

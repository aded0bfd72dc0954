//! Recognises the format of an image that C passes as a bare pointer.

use crate::Code;
use crate::error::{Error, Result, bail};
use std::ffi::{CStr, c_void};

const ELF: [u8; 4] = *b"\x7fELF";

/// The first bytes of a fat binary: of its own header, and of the wrapper in which compilers put a
/// pointer to it.
const FAT: [[u8; 4]; 2] = [0xba55_ed50_u32.to_le_bytes(), 0x4662_43b1_u32.to_le_bytes()];

/// Returns the text of an image.
///
/// # Errors
/// `CUDA_ERROR_NO_BINARY_FOR_GPU` for machine code: simulated cards accept only PTX.
///
/// # Safety
/// `image` is null, a complete cubin or fat binary, or a text that ends in NUL. It outlives the
/// result.
pub unsafe fn text<'a>(image: *const c_void) -> Result<&'a [u8]> {
    if image.is_null() {
        bail!(INVALID_VALUE, "the image is null");
    }
    let starts_with = |magic: [u8; 4]| {
        // SAFETY: the pointer is not null, and the caller promises a valid image. A text may be
        // shorter than four bytes, but then the comparison stops at its NUL and reads no byte after
        // it.
        (0..4).all(|at| unsafe { image.cast::<u8>().add(at).read() } == magic[at])
    };
    if starts_with(ELF) {
        bail!(NO_BINARY_FOR_GPU, "the image is a cubin; simulated devices accept only PTX");
    }
    if FAT.into_iter().any(starts_with) {
        bail!(NO_BINARY_FOR_GPU, "the image is a fat binary; simulated devices accept only PTX");
    }
    // SAFETY: as the caller promises: an image that is neither of the two formats is a text.
    Ok(unsafe { CStr::from_ptr(image.cast()) }.to_bytes())
}

/// Returns the text of an image file.
///
/// # Errors
/// `CUDA_ERROR_FILE_NOT_FOUND`, and the errors of [`text`].
pub(crate) fn of_file(path: &str) -> Result<Vec<u8>> {
    let mut file = std::fs::read(path).map_err(|error| Error::new(Code::FILE_NOT_FOUND, format!("{path}: {error}")))?;
    file.push(0);
    // SAFETY: the vector ends in NUL, outlives the call, and holds the complete file.
    Ok(unsafe { text(file.as_ptr().cast()) }?.to_vec())
}

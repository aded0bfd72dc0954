//! What reads bytes of others, for fuzzing. Not for programs.

use crate::code::archive::Archive;
use crate::code::custom::loadable;
use crate::code::kernel_metadata;
use crate::code::target::{Code, Target};
use isobit_hal::Result;

/// Checks a binary of a user, and reads the metadata of what would be loaded.
///
/// # Errors
/// As for loading it.
pub fn user_binary(target: Target, arch: &str, file: &[u8]) -> Result<()> {
    // A driver's compiler also gets text, which has its metadata in it.
    kernel_metadata::kernels(Code::compiled(target, file));
    let code = loadable(target, arch, file)?;
    kernel_metadata::kernels(Code::compiled(target, code));
    Ok(())
}

/// Reads the metadata in a note of a code object.
pub fn metadata_of_note(note: &[u8]) {
    kernel_metadata::of_note(note);
}

/// Reads an archive whose header is taken to be undamaged, and unpacks each frame.
///
/// # Errors
/// What is wrong with it.
pub fn archive(file: &[u8]) -> std::result::Result<(), String> {
    let file = Archive::with_hash_of_header(file);
    let archive = Archive::parse(&file).map_err(|why| why.to_string())?;
    for module in archive.modules() {
        archive.unpack(module.frame).map_err(|why| why.to_string())?;
    }
    Ok(())
}

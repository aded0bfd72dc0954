//! Checks binaries that users provide. A driver receives only their address and finds their end
//! from their content, so a truncated or unrelated file must not reach it.

use crate::code::target::Target;
use isobit_hal::{Error, ErrorKind, Result};
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use object::{LittleEndian, elf::FileHeader64};

/// The ELF `e_machine` values of AMD and NVIDIA GPUs.
const EM_AMDGPU: u16 = 224;
const EM_CUDA: u16 = 190;

/// The magic at the start of a bundle of code objects:
/// <https://clang.llvm.org/docs/ClangOffloadBundler.html>
const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED_BUNDLE: &[u8] = b"CCOB";

/// The magic at the start of an NVIDIA fat binary.
const FAT_BINARY: &[u8] = &0xba55_ed50_u32.to_le_bytes();

/// Returns the part of a file that can be passed to the driver.
///
/// # Errors
/// Returns `InvalidArgument` if the file is not code of this vendor or is incomplete, and
/// `KernelMissing` if a bundle has no code for the device.
pub(crate) fn loadable<'a>(target: Target, arch: &str, file: &'a [u8]) -> Result<&'a [u8]> {
    match target {
        Target::Amdgcn if file.starts_with(BUNDLE) => {
            let object = unbundle(arch, file)?;
            whole_elf(object, EM_AMDGPU, "an AMD code object").map(|()| object)
        }
        Target::Amdgcn if file.starts_with(COMPRESSED_BUNDLE) => {
            Err(invalid("the bundle of code objects is compressed: build it with --no-offload-compress".into()))
        }
        Target::Amdgcn => whole_elf(file, EM_AMDGPU, "an AMD code object").map(|()| file),
        Target::Nvptx if file.starts_with(FAT_BINARY) => whole_fat_binary(file).map(|()| file),
        Target::Nvptx => whole_elf(file, EM_CUDA, "a cubin").map(|()| file),
    }
}

#[cold]
fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// Checks that this is an ELF file for `machine` and that every header and section lies inside it.
fn whole_elf(file: &[u8], machine: u16, what: &str) -> Result<()> {
    let endian = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(file)
        .map_err(|e| invalid(format!("the binary is not {what}, which is an ELF file: {e}")))?;
    let found = header.e_machine(endian);
    if found != machine {
        return Err(invalid(format!("the binary is not {what}: it is for ELF machine {found}, not {machine}")));
    }
    let inside = || {
        let segments = header.program_headers(endian, file).ok()?;
        let sections = header.section_headers(endian, file).ok()?;
        let whole = segments.iter().all(|s| s.data(endian, file).is_ok())
            && sections.iter().all(|s| s.data(endian, file).is_ok());
        whole.then_some(())
    };
    inside().ok_or_else(|| {
        invalid(format!("the binary is {what} that is truncated: its headers refer to bytes beyond its end"))
    })
}

/// Checks a fat binary: a magic number (32 bits), a version and the header's size (16 bits each),
/// and the size of the data after the header (64 bits).
fn whole_fat_binary(file: &[u8]) -> Result<()> {
    let size = || {
        let header = u16::from_le_bytes(file.get(6..8)?.try_into().ok()?);
        let body = u64::from_le_bytes(file.get(8..16)?.try_into().ok()?);
        usize::try_from(body).ok()?.checked_add(header.into())
    };
    match size() {
        Some(size) if (16..=file.len()).contains(&size) => Ok(()),
        _ => Err(invalid("the binary is a fat binary that is truncated".into())),
    }
}

/// Returns the code object of a bundle that fits an architecture. If several fit, returns the one
/// that specifies the most features.
fn unbundle<'a>(arch: &str, file: &'a [u8]) -> Result<&'a [u8]> {
    let entries = entries(file).ok_or_else(|| invalid("the bundle of code objects is truncated".into()))?;
    let fitting = entries.iter().filter(|(id, _)| fits(id, arch)).max_by_key(|(id, _)| id.matches(':').count());
    fitting.map(|(_, object)| *object).ok_or_else(|| {
        let found: Vec<_> = entries.iter().filter_map(|(id, _)| processor(id)).collect();
        let message = format!("the bundle has code for {}, the device is {arch}", found.join(", "));
        Error::new(ErrorKind::KernelMissing, message)
    })
}

/// Returns the names and contents of the entries. The format is a count, and for each entry the
/// offset, the size, the length of the name, and the name.
fn entries(file: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut rest = &file[BUNDLE.len()..];
    let number = |rest: &mut &[u8]| -> Option<usize> {
        let (bytes, behind) = rest.split_first_chunk()?;
        *rest = behind;
        usize::try_from(u64::from_le_bytes(*bytes)).ok()
    };
    let count = number(&mut rest)?;
    let mut found = Vec::new();
    for _ in 0..count {
        let (offset, size, length) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
        let (name, behind) = rest.split_at_checked(length)?;
        rest = behind;
        found.push((std::str::from_utf8(name).ok()?, file.get(offset..offset.checked_add(size)?)?));
    }
    Some(found)
}

/// Returns the processor and its features from the name of an entry, such as
/// `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`.
fn processor(id: &str) -> Option<&str> {
    id.contains("amdgcn").then(|| id.find("gfx").map(|at| &id[at..])).flatten()
}

/// Whether the code of an entry runs on a device: the processor must be the same, and each feature
/// that the entry specifies must have the same setting on the device.
fn fits(id: &str, arch: &str) -> bool {
    let Some(code) = processor(id) else { return false };
    let mut device = arch.split(':');
    let mut code = code.split(':');
    device.next() == code.next() && code.all(|feature| device.clone().any(|has| has == feature))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let names: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
        let mut at = BUNDLE.len() + 8 + names;
        let mut file = [BUNDLE, &(entries.len() as u64).to_le_bytes()].concat();
        for (id, object) in entries {
            for number in [at, object.len(), id.len()] {
                file.extend((number as u64).to_le_bytes());
            }
            file.extend(id.as_bytes());
            at += object.len();
        }
        entries.iter().for_each(|(_, object)| file.extend(*object));
        file
    }

    #[test]
    fn a_bundle_gives_the_code_that_fits_best() {
        let file = bundle(&[
            ("host-x86_64-unknown-linux--", b""),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"any"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"off"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", b"on"),
            ("hipv4-amdgcn-amd-amdhsa--gfx1100", b"1100"),
        ]);
        for (arch, object) in [("gfx90a:sramecc+:xnack-", &b"off"[..]), ("gfx90a", b"any"), ("gfx1100", b"1100")] {
            assert_eq!(unbundle(arch, &file).unwrap(), object, "{arch}");
        }
        let error = unbundle("gfx942:sramecc+:xnack-", &file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelMissing);
        assert!(error.message().contains("gfx90a:xnack+, gfx1100, the device is gfx942"), "{error}");
        for end in BUNDLE.len()..file.len() {
            assert!(unbundle("gfx1100", &file[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        use crate::code::table::IMAGES;
        let refused = |target, file: &[u8], says: &str| {
            let error = loadable(target, "gfx90a", file).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(says), "{error}");
        };
        for target in [Target::Nvptx, Target::Amdgcn] {
            for file in [&b""[..], b"\x7fELF", b".version 7.0", b"__CLANG_OFFLOAD_BUNDL"] {
                refused(target, file, "which is an ELF file");
            }
        }
        refused(Target::Amdgcn, b"CCOB\x02\0", "--no-offload-compress");
        let fat = |body: u64| [FAT_BINARY, &[1, 0, 16, 0], &body.to_le_bytes(), &[0; 8]].concat();
        assert!(loadable(Target::Nvptx, "sm_80", &fat(8)).is_ok());
        refused(Target::Nvptx, &fat(9), "fat binary that is truncated");
        refused(Target::Nvptx, &fat(u64::MAX), "fat binary that is truncated");
        let Some(object) = IMAGES.iter().find_map(|i| i.code_for(Target::Amdgcn, "gfx90a")) else { return };
        assert_eq!(loadable(Target::Amdgcn, "gfx90a", &object).unwrap(), object);
        refused(Target::Nvptx, &object, "it is for ELF machine 224");
        for end in (64..object.len()).step_by(97) {
            refused(Target::Amdgcn, &object[..end], "truncated");
        }
    }
}

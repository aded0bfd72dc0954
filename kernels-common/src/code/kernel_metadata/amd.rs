//! Reads the kernels of an AMD code object from a note of its ELF file, which contains a map in
//! msgpack format. See "Code Object Metadata":
//! <https://llvm.org/docs/AMDGPUUsage.html#code-object-metadata>

use super::Described;
use isobit_hal::kernel::{KernelParam, ParamKind};
use object::LittleEndian;
use object::read::elf::{ElfFile64, ProgramHeader as _};
use rmpv::Value;

/// The type of the note that holds the metadata.
const NT_AMDGPU_METADATA: u32 = 32;

/// The deepest nesting of a note. The metadata of kernels needs 6, and each level of damaged data
/// may reserve memory for a list.
const DEPTH: usize = 32;

/// Returns every kernel that the note describes, or `None` if there is no note or it cannot be
/// parsed.
pub(super) fn kernels(object: &[u8]) -> Option<Vec<Described>> {
    of_note(note(object)?)
}

/// Returns every kernel of a note, or `None` if it cannot be parsed.
pub(super) fn of_note(mut note: &[u8]) -> Option<Vec<Described>> {
    let root = rmpv::decode::read_value_with_max_depth(&mut note, DEPTH).ok()?;
    get(&root, "amdhsa.kernels")?.as_array()?.iter().map(kernel).collect()
}

fn note(object: &[u8]) -> Option<&[u8]> {
    let file = ElfFile64::<LittleEndian>::parse(object).ok()?;
    for segment in file.elf_program_headers() {
        let Some(mut notes) = segment.notes(LittleEndian, object).ok()? else { continue };
        while let Some(note) = notes.next().ok()? {
            if note.name() == b"AMDGPU" && note.n_type(LittleEndian) == NT_AMDGPU_METADATA {
                return Some(note.desc());
            }
        }
    }
    None
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
}

fn kernel(map: &Value) -> Option<Described> {
    let args = get(map, ".args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let params = args.iter().filter(|arg| !is_hidden(arg)).map(param).collect::<Option<_>>()?;
    let max_threads = get(map, ".max_flat_workgroup_size").and_then(Value::as_u64).and_then(|n| n.try_into().ok());
    Some(Described { name: get(map, ".name")?.as_str()?.into(), params, max_threads })
}

fn value_kind(arg: &Value) -> Option<&str> {
    get(arg, ".value_kind")?.as_str()
}

/// Whether the compiler added this argument, which the driver then fills in.
fn is_hidden(arg: &Value) -> bool {
    value_kind(arg).is_some_and(|kind| kind.starts_with("hidden_"))
}

fn param(arg: &Value) -> Option<KernelParam> {
    let size = usize::try_from(get(arg, ".size")?.as_u64()?).ok()?;
    // The metadata does not distinguish numbers from structures.
    let kind = if value_kind(arg)? == "global_buffer" { ParamKind::Pointer } else { ParamKind::Bytes };
    Some(KernelParam { size, kind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::table::{IMAGES, KERNELS};
    use crate::code::target::Target;

    #[test]
    fn every_kernel_of_the_tree_is_described() {
        let mut described = 0;
        for (i, image) in IMAGES.iter().enumerate() {
            for arch in image.archs(Target::Amdgcn) {
                let code = image.code_for(Target::Amdgcn, &arch).expect("it is packed");
                let found = kernels(&code).unwrap_or_else(|| panic!("{} for {arch} is not understood", image.name));
                for entry in KERNELS.iter().filter(|e| e.module == i) {
                    let kernel = found.iter().find(|k| k.name == entry.symbol);
                    let kernel = kernel.unwrap_or_else(|| panic!("{} of {} is missing", entry.symbol, image.name));
                    // Each kernel of the tree writes to at least one pointer, and declares the
                    // block size that it is compiled for.
                    assert!(kernel.params.iter().any(|p| p.kind == ParamKind::Pointer && p.size == 8), "{kernel:?}");
                    assert!(kernel.max_threads.is_some_and(|n| (32..=1024).contains(&n)), "{kernel:?}");
                    described += 1;
                }
            }
        }
        eprintln!("{described} kernels described");
    }

    #[test]
    fn what_is_no_code_object_has_no_kernels() {
        assert_eq!(kernels(b""), None);
        assert_eq!(kernels(b"\x7fELF"), None);
        let mut damaged = match IMAGES.iter().find_map(|i| i.code_for(Target::Amdgcn, "gfx90a")) {
            Some(code) => code,
            None => return,
        };
        // Any byte may be wrong: parsing returns some result or none, but never panics.
        for at in 0..damaged.len().min(4096) {
            damaged[at] ^= 0xff;
            let _ = kernels(&damaged);
            damaged[at] ^= 0xff;
        }
    }
}

//! Reads kernel metadata from compiled code: names, parameters, and the maximum number of threads
//! per block. PTX contains it in its text, AMD code objects in a note. Cubins have no documented
//! metadata, so their kernels are launched unchecked.

mod amd;
mod ptx;

use crate::code::target::Code;
use isobit_hal::kernel::KernelParam;

/// The metadata of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    /// The symbol.
    pub(crate) name: String,
    /// Its parameters in order, without those that the compiler adds.
    pub(crate) params: Vec<KernelParam>,
    /// The maximum number of threads per block, if the kernel was compiled with one.
    pub(crate) max_threads: Option<u32>,
}

/// Returns the kernels that the note of an AMD code object describes, if it can be parsed.
pub(crate) fn of_note(note: &[u8]) -> Option<Vec<Described>> {
    amd::of_note(note)
}

/// Returns the kernels in the order of the code. Returns none if the code has no metadata; invalid
/// code is left for the driver to reject.
pub(crate) fn kernels(code: Code<'_>) -> Vec<Described> {
    match code {
        Code::Ptx(text) => ptx::kernels(&String::from_utf8_lossy(text)),
        Code::Object(bytes) => amd::kernels(bytes).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::table::{IMAGES, KERNELS};
    use crate::code::target::Target;

    /// The two formats, written by two compiler back ends from the same source, describe the same
    /// kernels.
    #[test]
    fn both_formats_say_the_same_of_the_tree() {
        let mut compared = 0;
        for (i, image) in IMAGES.iter().enumerate() {
            let of = |target| {
                let arch = image.archs(target).first()?.to_string();
                let code = image.code_for(target, &arch)?;
                Some(kernels(Code::compiled(target, &code)))
            };
            let (Some(ptx), Some(amd)) = (of(Target::Nvptx), of(Target::Amdgcn)) else { continue };
            for entry in KERNELS.iter().filter(|e| e.module == i) {
                let named = |all: &[Described]| all.iter().find(|k| k.name == entry.symbol).cloned();
                let (Some(ptx), Some(amd)) = (named(&ptx), named(&amd)) else { panic!("{} is missing", entry.symbol) };
                let sizes = |k: &Described| k.params.iter().map(|p| p.size).collect::<Vec<_>>();
                assert_eq!((sizes(&ptx), ptx.max_threads), (sizes(&amd), amd.max_threads), "{}", entry.symbol);
                compared += 1;
            }
        }
        eprintln!("{compared} kernels compared");
    }
}

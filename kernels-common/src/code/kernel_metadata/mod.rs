//! What compiled code says of its kernels: their names, their parameters, how many threads a block
//! may have. PTX says it in its text, AMD code objects in a note; a cubin says nothing that is
//! documented, and its kernels are launched unchecked.

mod amd;
mod ptx;

use crate::code::target::Code;
use isobit_hal::kernel::KernelParam;

/// What code says of one of its kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    /// The symbol.
    pub(crate) name: String,
    /// Its parameters in order, those that the compiler adds left out.
    pub(crate) params: Vec<KernelParam>,
    /// The threads that its blocks may have, where it was compiled for so many at most.
    pub(crate) max_threads: Option<u32>,
}

/// The kernels in code, in its order; none where it does not say, and code that cannot be read is
/// the driver's to refuse.
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

    /// Two formats, written by two compilers' back ends from one source, say the same.
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

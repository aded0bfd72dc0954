//! What kind of code a device loads. It depends on nothing here, so that the driver trait can name
//! it.

/// Which vendor's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// PTX, which NVIDIA's driver compiles for the card; code for one `sm_` runs on that and every
    /// later one.
    Nvptx,
    /// AMD code objects, each for one `gfx` alone.
    Amdgcn,
}

/// Code that a driver can load.
#[derive(Debug, Clone, Copy)]
pub enum Code<'a> {
    /// PTX text, NUL-terminated.
    Ptx(&'a [u8]),
    /// An ELF code object.
    Object(&'a [u8]),
}

impl<'a> Code<'a> {
    /// Code as a build packs it and a run-time compiler gives it: machine code is an ELF file, PTX
    /// is text.
    pub fn compiled(target: Target, code: &'a [u8]) -> Self {
        match target {
            Target::Nvptx if !code.starts_with(b"\x7fELF") => Code::Ptx(code),
            Target::Nvptx | Target::Amdgcn => Code::Object(code),
        }
    }
}

//! The kind of code that a device loads. This module depends on nothing else here, so that the
//! driver trait can use it.

/// The vendor-specific code format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// PTX, which NVIDIA's driver compiles for the card. Code for one `sm_` runs on that
    /// architecture and every later one.
    Nvptx,
    /// AMD code objects. Each runs on one `gfx` only.
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
    /// Wraps code as a build packs it or a run-time compiler returns it. ELF files are machine
    /// code; anything else is PTX text.
    pub fn compiled(target: Target, code: &'a [u8]) -> Self {
        match target {
            Target::Nvptx if !code.starts_with(b"\x7fELF") => Code::Ptx(code),
            Target::Nvptx | Target::Amdgcn => Code::Object(code),
        }
    }
}

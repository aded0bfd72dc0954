//! The ELF part of a code object: segments, symbols, relocations, and the note with the metadata.

use super::LoadError;
use crate::isa::Arch;
use object::elf;
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _, ProgramHeader as _, Rela as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolFlags, SymbolSection};
use std::collections::HashMap;
use std::ops::Range;

/// Returns the processor in `e_flags`.
const fn machine(arch: Arch) -> u32 {
    match arch {
        Arch::Gfx90a => 0x3f,
        Arch::Gfx942 => 0x4c,
        Arch::Gfx1100 => 0x41,
    }
}

/// The kinds of relocation in HIP's code objects: the 64-bit address of a symbol, and an address
/// relative to the object itself.
const R_AMDGPU_ABS64: u32 = 3;
const R_AMDGPU_RELATIVE64: u32 = 13;

/// The type of the note with the metadata in msgpack.
const NT_AMDGPU_METADATA: u32 = 32;

/// A parsed code object.
pub(super) struct Elf<'a> {
    file: ElfFile64<'a, LittleEndian>,
    data: &'a [u8],
    /// The size in bytes from the first to the last mapped byte.
    pub(super) size: usize,
    /// The range of the code in these bytes.
    pub(super) text: Range<usize>,
    /// Dynamic symbols: offset and size.
    pub(super) symbols: HashMap<String, (u64, u64)>,
    /// The metadata, in msgpack.
    pub(super) metadata: Vec<u8>,
    /// Whether there are variables that kernels may write.
    pub(super) writable: bool,
}

fn invalid(e: impl ToString) -> LoadError {
    LoadError::Invalid(e.to_string())
}

impl<'a> Elf<'a> {
    pub(super) fn parse(arch: Arch, data: &'a [u8]) -> Result<Self, LoadError> {
        let file = ElfFile64::<LittleEndian>::parse(data).map_err(invalid)?;
        let header = file.elf_header();
        let endian = LittleEndian;
        if header.e_machine(endian) != elf::EM_AMDGPU {
            return Err(invalid(format!("it is for machine {}, not for AMD GPUs (224)", header.e_machine(endian))));
        }
        // Version 2 of the ABI is code object v4, version 3 is v5.
        let version = header.e_ident.abi_version;
        if !matches!(version, 2 | 3) {
            return Err(LoadError::Unsupported(format!(
                "version {} of code objects (only 4 and 5 are)",
                u16::from(version) + 2
            )));
        }
        let flags = header.e_flags(endian);
        if flags & 0xff != machine(arch) {
            let found = format!("processor {:#x}", flags & 0xff);
            let found = Arch::ALL.iter().find(|a| machine(**a) == flags & 0xff).map_or(found, |a| a.name().into());
            return Err(LoadError::NoCode { wanted: arch.target_id().into(), found: vec![found] });
        }
        // XNACK on (3 in bits 8 and 9), or SRAM ECC off (2 in bits 10 and 11): the simulated cards
        // have the opposite setting.
        if flags >> 8 & 3 == 3 || (flags >> 10 & 3 == 2 && arch.target_id().contains("sramecc+")) {
            let found = vec![format!("{} with other features (flags {flags:#x})", arch.name())];
            return Err(LoadError::NoCode { wanted: arch.target_id().into(), found });
        }
        let segments = file.elf_program_headers().iter().filter(|s| s.p_type(endian) == elf::PT_LOAD);
        let end = segments.map(|s| s.p_vaddr(endian).saturating_add(s.p_memsz(endian))).max().unwrap_or(0);
        let size =
            usize::try_from(end).ok().filter(|&n| n < 1 << 32).ok_or_else(|| invalid("it is larger than 4 GiB"))?;
        let section = file.section_by_name(".text").ok_or_else(|| invalid("it has no code"))?;
        let text = section.address() as usize..section.address().saturating_add(section.size()) as usize;
        let mut symbols = HashMap::new();
        for symbol in file.dynamic_symbols() {
            if let (Ok(name), SymbolSection::Section(_)) = (symbol.name(), symbol.section()) {
                let (at, bytes) = (symbol.address(), symbol.size());
                if at.checked_add(bytes).is_none_or(|end| end > size as u64) {
                    return Err(invalid(format!("the symbol {name} lies outside the segments")));
                }
                symbols.insert(name.to_string(), (at, bytes));
            }
        }
        let writable = file.dynamic_symbols().any(|s| {
            let object = matches!(s.flags(), SymbolFlags::Elf { st_info, .. } if st_info & 15 == elf::STT_OBJECT);
            let section = s.section_index().and_then(|i| file.section_by_index(i).ok());
            object && section.is_some_and(|s| matches!(s.name(), Ok(".data" | ".bss")))
        });
        let mut parsed = Self { file, data, size, text, symbols, metadata: Vec::new(), writable };
        parsed.metadata = parsed.note()?;
        Ok(parsed)
    }

    /// Returns the contents of the metadata note: owner AMDGPU, type 32.
    fn note(&self) -> Result<Vec<u8>, LoadError> {
        for segment in self.file.elf_program_headers() {
            let Some(mut notes) = segment.notes(LittleEndian, self.data).map_err(invalid)? else { continue };
            while let Some(note) = notes.next().map_err(invalid)? {
                if note.name() == b"AMDGPU" && note.n_type(LittleEndian) == NT_AMDGPU_METADATA {
                    return Ok(note.desc().to_vec());
                }
            }
        }
        Err(invalid("it has no AMDGPU metadata note"))
    }

    /// Copies the segments to their positions, counted from address 0, and relocates them for
    /// `base`.
    pub(super) fn map(&self, bytes: &mut [u8], base: u64) -> Result<(), LoadError> {
        let endian = LittleEndian;
        for segment in self.file.elf_program_headers() {
            if segment.p_type(endian) != elf::PT_LOAD {
                continue;
            }
            let data = segment.data(endian, self.data).map_err(|()| invalid("a segment lies outside the file"))?;
            let at = segment.p_vaddr(endian) as usize;
            let end = at.checked_add(data.len()).filter(|&end| end <= bytes.len());
            bytes[at..end.ok_or_else(|| invalid("a segment is larger than it says"))?].copy_from_slice(data);
        }
        self.relocate(bytes, base)
    }

    fn relocate(&self, bytes: &mut [u8], base: u64) -> Result<(), LoadError> {
        let endian = LittleEndian;
        let mut at = None;
        let mut size = 0;
        for segment in self.file.elf_program_headers() {
            let Some(entries) = segment.dynamic(endian, self.data).map_err(invalid)? else { continue };
            for entry in entries {
                match entry.d_tag(endian) {
                    elf::DT_RELA => at = Some(entry.d_val(endian) as usize),
                    elf::DT_RELASZ => size = entry.d_val(endian) as usize,
                    elf::DT_REL | elf::DT_JMPREL => {
                        return Err(LoadError::Unsupported("relocations other than DT_RELA".into()));
                    }
                    _ => {}
                }
            }
        }
        let Some(at) = at else { return Ok(()) };
        let table = at
            .checked_add(size)
            .and_then(|end| bytes.get(at..end))
            .ok_or_else(|| invalid("relocations outside the segments"))?;
        let (entries, rest) = object::slice_from_bytes::<elf::Rela64<LittleEndian>>(table, size / 24)
            .map_err(|()| invalid("relocations"))?;
        let entries = if rest.is_empty() { entries.to_vec() } else { return Err(invalid("half a relocation")) };
        let dynamic: Vec<_> = self.file.dynamic_symbols().collect();
        for entry in entries {
            let addend = entry.r_addend(endian) as u64;
            let value = match entry.r_type(endian, false) {
                R_AMDGPU_RELATIVE64 => base.wrapping_add(addend),
                R_AMDGPU_ABS64 => {
                    let wanted = entry.r_sym(endian, false) as usize;
                    let symbol = dynamic
                        .iter()
                        .find(|s| s.index().0 == wanted)
                        .ok_or_else(|| invalid("a relocation's symbol"))?;
                    base.wrapping_add(symbol.address()).wrapping_add(addend)
                }
                other => return Err(LoadError::Unsupported(format!("relocation type {other}"))),
            };
            let at = entry.r_offset(endian) as usize;
            let place = at
                .checked_add(8)
                .and_then(|end| bytes.get_mut(at..end))
                .ok_or_else(|| invalid("a relocation outside the segments"))?;
            place.copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }
}

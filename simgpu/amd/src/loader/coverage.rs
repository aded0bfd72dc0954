//! Registers the kernels of a module whose coverage is wanted, with the lines in its DWARF data.

use super::Kernel;
use crate::exec::Program;
use crate::isa::Arch;
use gimli::{EndianSlice, LittleEndian as Little};
use isobit_simgpu_core::coverage::{self, Code, Numbering, Paths};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSection as _};

/// Registers kernels, which get their marks. Without line information, or if it is damaged, only
/// instructions are counted. `start` is the address of the code in the object.
pub(super) fn register(arch: Arch, object: &[u8], start: u64, program: &Program, kernels: &mut [Kernel]) {
    let mut paths = Paths::default();
    let rows = rows(object, &mut paths).unwrap_or_default();
    let line = |offset: u32| {
        let address = start + u64::from(offset);
        let row = rows.partition_point(|row| row.address <= address).checked_sub(1)?;
        rows[row].line
    };
    // A program is numbered as a whole, but only the steps of kernels are in the list, so that
    // padding between kernels is not.
    let code = Code {
        card: arch.name().to_owned(),
        kernels: kernels.iter().map(|kernel| (kernel.name.clone(), kernel.steps.clone())).collect(),
        lines: program.steps.iter().map(|step| line(step.offset)).collect(),
        files: paths.into_paths(),
    };
    for (kernel, marks) in kernels.iter_mut().zip(coverage::register(code, Numbering::PerModule)) {
        kernel.coverage = Some(marks);
    }
}

/// A row of a line table: what holds from an address on.
struct Row {
    address: u64,
    /// The number of the path and the line; none after the end of a sequence, and for code that the
    /// compiler made.
    line: Option<(u32, u32)>,
}

/// Returns the rows of all line tables, in the order of their addresses.
fn rows(object: &[u8], paths: &mut Paths) -> Result<Vec<Row>, gimli::Error> {
    let Ok(file) = ElfFile64::<LittleEndian>::parse(object) else { return Ok(Vec::new()) };
    let section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok(EndianSlice::new(data.unwrap_or_default(), Little))
    };
    let dwarf = gimli::Dwarf::load(section)?;
    let mut found = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let Some(table) = unit.line_program.clone() else { continue };
        let mut rows = table.rows();
        while let Some((header, row)) = rows.next_row()? {
            let line = row.line().filter(|_| !row.end_sequence()).and_then(|line| u32::try_from(line.get()).ok());
            let line = match (line, row.file(header)) {
                (Some(line), Some(of)) => {
                    let mut path = String::new();
                    if let Some(folder) = of.directory(header) {
                        path = dwarf.attr_string(&unit, folder)?.to_string_lossy().into_owned() + "/";
                    }
                    let name = dwarf.attr_string(&unit, of.path_name())?.to_string_lossy().into_owned();
                    Some((paths.number(&if name.starts_with('/') { name } else { path + &name }), line))
                }
                _ => None,
            };
            found.push(Row { address: row.address(), line });
        }
    }
    // Rows of the same address stay in their order: the last one holds.
    found.sort_by_key(|row| row.address);
    Ok(found)
}

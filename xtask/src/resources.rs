//! Prints the resources of every kernel: registers, spills, shared memory. AMD's compiler writes
//! them into the code object; for NVIDIA, ptxas assembles the PTX and prints them.

use crate::setup;
use anyhow::{Context, Result, anyhow, bail};
use object::read::elf::{ElfFile64, SectionHeader as _};
use object::{Endianness, Object as _};
use rmpv::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a kernel uses, as its compiler says.
#[derive(Debug, Default, Clone)]
pub struct Row {
    /// Its symbol.
    pub kernel: String,
    /// Registers per thread.
    pub registers: u64,
    /// AMD's scalar registers per wave.
    pub scalars: Option<u64>,
    /// Registers that are spilled to memory; bytes for NVIDIA.
    pub spills: u64,
    /// AMD's scalar registers that are spilled: to lanes of vector registers.
    pub scalar_spills: u64,
    /// Bytes per thread for spills, and for variables that are not in registers.
    pub memory: u64,
    /// Bytes of shared memory that the code declares.
    pub shared: u64,
}

impl Row {
    /// Returns the registers as they are printed.
    pub fn registers(&self) -> String {
        self.scalars.map_or_else(|| self.registers.to_string(), |scalars| format!("{} v + {scalars} s", self.registers))
    }
}

/// The name of an exported file: its module, its architecture, and its ending.
pub fn parts(file: &Path) -> Result<[String; 3]> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let parts: Vec<String> = name.split('.').map(str::to_string).collect();
    parts.try_into().map_err(|_| anyhow!("{name} is not an exported module"))
}

/// Returns the files of a folder of exported code, by name.
pub fn exported(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    files.sort();
    Ok(files)
}

/// Prints a table for every module in a folder of exported code.
pub fn print(folder: &Path) -> Result<()> {
    let ptxas = setup::ensure_ptxas();
    if ptxas.is_none() {
        eprintln!("note: the rows of NVIDIA's targets are skipped, because ptxas is missing");
    }
    println!("{:<48} {:<8} {:>16} {:>7} {:>7}", "kernel", "target", "registers", "spills", "shared");
    for file in exported(folder)? {
        let [_, arch, ending] = parts(&file)?;
        let rows = match (&*ending, &ptxas) {
            ("ptx", Some(ptxas)) => of_ptx(ptxas, &file, &arch),
            ("ptx", None) => continue,
            _ => of_code_object(&file),
        };
        for row in rows.with_context(|| format!("reading {}", file.display()))? {
            println!(
                "{:<48} {arch:<8} {:>16} {:>7} {:>7}",
                row.kernel,
                row.registers(),
                row.spills + row.scalar_spills,
                row.shared
            );
        }
    }
    Ok(())
}

fn of_ptx(ptxas: &Path, file: &Path, arch: &str) -> Result<Vec<Row>> {
    let output = Command::new(ptxas).arg(format!("-arch={arch}")).args(["-v", "-o", "/dev/null"]).arg(file).output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{text}");
    }
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines() {
        let number_before = |unit: &str| -> u64 {
            let before = line.split(unit).next().filter(|b| b.len() < line.len()).unwrap_or_default();
            before.rsplit([' ', ',']).find(|w| !w.is_empty()).and_then(|w| w.parse().ok()).unwrap_or(0)
        };
        if let Some(kernel) = line.split("entry function '").nth(1).and_then(|r| r.split('\'').next()) {
            rows.push(Row { kernel: kernel.into(), ..Row::default() });
        } else if let Some(row) = rows.last_mut() {
            if line.contains("spill stores") {
                row.spills = number_before(" bytes spill stores") + number_before(" bytes spill loads");
            } else if line.contains("registers") {
                row.registers = number_before(" registers");
                row.shared = number_before(" bytes smem");
            }
        }
    }
    Ok(rows)
}

/// The note that holds a code object's metadata (LLVM's AMDGPU usage guide, "Code Object V5
/// Metadata").
const NT_AMDGPU_METADATA: u32 = 32;

/// Returns what the kernels of a code object use.
pub fn of_code_object(file: &Path) -> Result<Vec<Row>> {
    let bytes = std::fs::read(file)?;
    let elf = ElfFile64::<Endianness>::parse(bytes.as_slice())?;
    let mut rows = Vec::new();
    for section in elf.sections() {
        let Some(mut notes) = section.elf_section_header().notes(elf.endian(), elf.data())? else { continue };
        while let Some(note) = notes.next()? {
            if note.n_type(elf.endian()) != NT_AMDGPU_METADATA {
                continue;
            }
            let metadata = rmpv::decode::read_value(&mut note.desc())?;
            let kernels = field(&metadata, "amdhsa.kernels").and_then(Value::as_array);
            for kernel in kernels.ok_or_else(|| anyhow!("the metadata lists no kernels"))? {
                let number = |name: &str| field(kernel, name).and_then(Value::as_u64).unwrap_or(0);
                rows.push(Row {
                    kernel: field(kernel, ".name").and_then(Value::as_str).unwrap_or("?").into(),
                    registers: number(".vgpr_count"),
                    scalars: Some(number(".sgpr_count")),
                    spills: number(".vgpr_spill_count"),
                    scalar_spills: number(".sgpr_spill_count"),
                    memory: number(".private_segment_fixed_size"),
                    shared: number(".group_segment_fixed_size"),
                });
            }
        }
    }
    Ok(rows)
}

fn field<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}

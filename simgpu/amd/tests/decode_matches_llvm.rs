//! Every instruction of every code object of the kernel tree decodes to the output of LLVM's
//! disassembler.

mod llvm;

use isobit_kernels::{IMAGES, Target};
use isobit_simgpu_amd::isa::{Arch, decode};
use object::{Object, ObjectSection, SectionKind};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns LLVM's disassembly of a code object: address, text and words of each instruction.
fn disassembly(code: &[u8]) -> Vec<(u64, String, Vec<u8>)> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(code).expect("a temporary file can be written");
    let path = file.path().to_str().expect("the path of a temporary file is text");
    let output = llvm::run("llvm-objdump", &["-d", "--disassemble-zeroes", path]);
    assert!(output.status.success(), "llvm-objdump: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("llvm-objdump writes UTF-8");
    text.lines().filter_map(instruction).collect()
}

/// Parses a line such as `\ts_load_dword s0, s[4:5], 0x0   // 000000001900: C0020002 00000000`.
fn instruction(line: &str) -> Option<(u64, String, Vec<u8>)> {
    let (text, place) = line.strip_prefix('\t')?.split_once("// ")?;
    let (address, words) = place.split_once(": ")?;
    let bytes =
        words.split_whitespace().map_while(|word| u32::from_str_radix(word, 16).ok()).flat_map(u32::to_le_bytes);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some((u64::from_str_radix(address, 16).ok()?, text, bytes.collect()))
}

/// Compares one code object. Returns the number of instructions and their mnemonics, or the first
/// difference.
fn compare(arch: Arch, code: &[u8]) -> Result<(usize, BTreeSet<String>), String> {
    let elf = object::File::parse(code).map_err(|error| error.to_string())?;
    let executable =
        elf.sections().filter(|section| section.kind() == SectionKind::Text).map(|section| section.size()).sum::<u64>();
    let (mut mnemonics, mut bytes) = (BTreeSet::new(), 0);
    let instructions = disassembly(code);
    for (address, expected, words) in &instructions {
        let inst = decode(arch, words).map_err(|error| format!("{address:#x}: {expected}: {error}"))?;
        let found = inst.display(arch).to_string();
        if found != *expected || usize::from(inst.size) != words.len() {
            return Err(format!(
                "{address:#x}: LLVM has {} bytes, {expected}; the decoder {}, {found}",
                words.len(),
                inst.size
            ));
        }
        bytes += words.len() as u64;
        mnemonics.insert(inst.mnemonic.to_owned());
    }
    if bytes != executable {
        return Err(format!("LLVM disassembled {bytes} of {executable} bytes of code"));
    }
    Ok((instructions.len(), mnemonics))
}

fn check(arch: Arch, objects: &[(&str, Vec<u8>)]) {
    let next = AtomicUsize::new(0);
    let (total, seen, failures) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((name, code)) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match compare(arch, code) {
                        Ok((count, mnemonics)) => {
                            total.fetch_add(count, Ordering::Relaxed);
                            seen.lock().unwrap().extend(mnemonics);
                        }
                        Err(difference) => {
                            failures.lock().unwrap().push(format!("{name} for {}: {difference}", arch.name()))
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let (total, seen) = (total.into_inner(), seen.into_inner().unwrap().len());
    println!("{}: {} code objects, {total} instructions, {seen} mnemonics", arch.name(), objects.len());
    assert!(total > 0, "the code objects of {} have instructions", arch.name());
}

#[test]
fn every_packed_instruction() {
    if !llvm::is_there() {
        return;
    }
    let mut targets = 0;
    for arch in Arch::ALL {
        let packed = IMAGES.iter().filter_map(|image| Some((image.name, image.code_for(Target::Amdgcn, arch.name())?)));
        let objects: Vec<_> = packed.collect();
        if !objects.is_empty() {
            assert_eq!(objects.len(), IMAGES.len(), "every module is packed for {}", arch.name());
            check(arch, &objects);
            targets += 1;
        }
    }
    assert!(targets > 0, "no code objects are packed: ISOBIT_ROCM_ARCHS names none of gfx90a, gfx942 and gfx1100");
}

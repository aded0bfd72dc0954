//! Every instruction of every code object of the kernel tree has a lowering for its target, with
//! the modifiers that it uses there.

use isobit_kernels::{IMAGES, Target};
use isobit_simgpu_amd::exec::lower;
use isobit_simgpu_amd::isa::Arch;
use object::{Object, ObjectSection, SectionKind};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions that cannot be executed, by reason, with their count and the first occurrence.
type Faults = BTreeMap<String, (usize, String)>;

/// Lowers the code of a module, and returns the number of its instructions.
fn module(arch: Arch, name: &str, code: &[u8], names: &mut BTreeSet<&'static str>, faults: &mut Faults) -> usize {
    let elf = object::File::parse(code).unwrap_or_else(|e| panic!("{name} for {}: {e}", arch.name()));
    let mut count = 0;
    for section in elf.sections().filter(|section| section.kind() == SectionKind::Text) {
        let text = section.data().expect("the code is in the file");
        let program = lower::program(arch, 0, text, section.address());
        for (at, step) in program.steps.iter().enumerate() {
            // This step is only reached by running past the end.
            if at == program.steps.len() - 1 {
                continue;
            }
            count += 1;
            let inst = program.inst(step);
            match program.faults.get(&(at as u32)) {
                None => {
                    names.insert(inst.name);
                    names.extend(inst.second.as_ref().map(|second| second.name));
                }
                // The padding between functions, which no kernel reaches.
                Some(_) if inst.name == "s_code_end" => {}
                Some(why) => {
                    let place = || format!("{name} at {:#x}: {}", program.address_of(step), inst.display(arch));
                    faults.entry(why.to_string()).or_insert_with(|| (0, place())).0 += 1;
                }
            }
        }
    }
    count
}

#[test]
fn every_packed_instruction() {
    let mut targets = 0;
    for arch in Arch::ALL {
        let (mut count, mut names, mut faults) = (0, BTreeSet::new(), Faults::new());
        for image in IMAGES {
            if let Some(code) = image.code_for(Target::Amdgcn, arch.name()) {
                count += module(arch, image.name, &code, &mut names, &mut faults);
            }
        }
        if count > 0 {
            println!("{}: {count} instructions of {} kinds", arch.name(), names.len());
            targets += 1;
        }
        let faults: Vec<_> =
            faults.into_iter().map(|(why, (times, first))| format!("{why}: {times} times, first in {first}")).collect();
        assert!(faults.is_empty(), "on {}:\n{}", arch.name(), faults.join("\n"));
    }
    assert!(targets > 0, "no code objects are packed: ISOBIT_ROCM_ARCHS names none of gfx90a, gfx942 and gfx1100");
}

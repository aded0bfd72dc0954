//! Every barrier of the packed AMD kernels comes after a wait for the group memory that its wave
//! accessed. A barrier alone orders nothing there: the dialect's has fences, which become waits.
//! The simulated GPU makes each access at once, so only the code shows one that is missing.

use isobit_kernels::{IMAGES, Target};
use isobit_simgpu_amd::exec::lower;
use isobit_simgpu_amd::isa::Arch;
use object::{Object, ObjectSection, SectionKind};

/// Follows the code from line to line, which is a way that a wave may go except behind a jump, and
/// returns how many accesses of group memory come to a barrier without a wait, as the places of the
/// barriers, and how many barriers there are.
fn unwaited<'a>(code: impl Iterator<Item = (u64, &'a str)>) -> (Vec<u64>, usize) {
    let (mut places, mut barriers, mut pending) = (Vec::new(), 0, false);
    for (place, text) in code {
        match text.split_whitespace().next().unwrap_or_default() {
            "s_barrier" => {
                barriers += 1;
                if std::mem::take(&mut pending) {
                    places.push(place);
                }
            }
            "s_waitcnt" if text.contains("lgkmcnt(0)") => pending = false,
            "s_branch" | "s_endpgm" | "s_setpc_b64" | "s_code_end" => pending = false,
            name => pending |= name.starts_with("ds_"),
        }
    }
    (places, barriers)
}

#[test]
fn every_barrier_of_the_kernels_waits_for_group_memory() {
    let mut barriers = 0;
    for arch in Arch::ALL {
        for image in IMAGES {
            let Some(code) = image.code_for(Target::Amdgcn, arch.name()) else { continue };
            let elf = object::File::parse(&*code).unwrap_or_else(|e| panic!("{} for {}: {e}", image.name, arch.name()));
            for section in elf.sections().filter(|section| section.kind() == SectionKind::Text) {
                let text = section.data().expect("the code is in the file");
                let program = lower::program(arch, 0, text, section.address());
                let steps = &program.steps[..program.steps.len() - 1];
                let lines: Vec<(u64, String)> = steps
                    .iter()
                    .map(|step| (program.address_of(step), program.inst(step).display(arch).to_string()))
                    .collect();
                let (places, count) = unwaited(lines.iter().map(|(place, text)| (*place, text.as_str())));
                assert!(places.is_empty(), "{} for {}: no wait before {places:#x?}", image.name, arch.name());
                barriers += count;
            }
        }
    }
    assert!(barriers > 100, "{barriers} barriers: ISOBIT_ROCM_ARCHS names none of gfx90a, gfx942 and gfx1100");
    println!("{barriers} barriers");
}

/// What clang 19 makes for gfx90a of a store, a barrier and a load, without the fences and with
/// them.
#[test]
fn a_barrier_without_a_wait_is_found() {
    let bare = ["ds_write_b32 v1, v2", "s_barrier", "ds_read_b32 v2, v3", "s_waitcnt lgkmcnt(0)", "s_barrier"];
    let fenced = ["ds_write_b32 v1, v2", "s_waitcnt lgkmcnt(0)", "s_barrier", "ds_read_b32 v2, v3", "s_endpgm"];
    let of = |code: [&'static str; 5]| unwaited((0..).zip(code));
    assert_eq!(of(bare), (vec![1], 2));
    assert_eq!(of(fenced), (vec![], 1));
}

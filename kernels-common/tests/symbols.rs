//! Every kernel of the table is in the code of its module, for every packed architecture. Tests on
//! a card check that a driver loads each one; this test finds missing ones without a card.

use isobit_kernels::{IMAGES, KERNELS, Target};
use std::collections::HashSet;

/// Returns the kernels that compiled code defines.
fn defined(target: Target, code: &[u8]) -> HashSet<String> {
    let (before, after): (&str, &[char]) = match target {
        Target::Nvptx => (".entry ", &['(']),
        // Each kernel has a descriptor, whose name is in the symbol name table, between NUL bytes.
        Target::Amdgcn => ("\0", &['\0']),
    };
    let text = String::from_utf8_lossy(code);
    let names = text.split(before).filter_map(|rest| rest.split(after).next());
    match target {
        Target::Nvptx => names.map(str::to_string).collect(),
        Target::Amdgcn => names.filter_map(|n| n.strip_suffix(".kd")).map(str::to_string).collect(),
    }
}

#[test]
fn every_kernel_of_the_table_is_in_its_module() {
    let (mut checked, mut archs) = (0, 0);
    for target in [Target::Nvptx, Target::Amdgcn] {
        let built_for = IMAGES[0].archs(target);
        archs += built_for.len();
        for (index, image) in IMAGES.iter().enumerate() {
            assert_eq!(image.archs(target), built_for, "{}: every architecture has every module", image.name);
            for arch in &built_for {
                let code = image.unpack(target, arch).expect("the build packed it").expect("it says that it has this");
                let defined = defined(target, &code);
                for kernel in KERNELS.iter().filter(|k| k.module == index) {
                    assert!(defined.contains(kernel.symbol), "{} is not in {} for {arch}", kernel.symbol, image.name);
                    checked += 1;
                }
            }
        }
    }
    assert_eq!(checked, KERNELS.len() * archs);
    eprintln!("{} kernels of {} modules for {archs} architectures", KERNELS.len(), IMAGES.len());
}

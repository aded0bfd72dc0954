//! The identity of a module, which decides whether compiled code is reused. It changes if the
//! module's text, an included file or a flag changes, and does not change otherwise.

// Written for the build script, which uses all of it.
#[allow(dead_code)]
#[path = "../build/identity.rs"]
mod identity;
#[allow(dead_code)]
#[path = "../src/code/includes.rs"]
mod includes;
#[allow(dead_code)]
#[path = "../build/target.rs"]
mod target;

mod manifest {
    pub use isobit_kernels::Module;
}

/// In the build script this module reads the data crates among the dependencies.
mod prebuilt {
    pub fn file(_: &str) -> Option<std::path::PathBuf> {
        None
    }
}

use identity::Identities;
use isobit_kernels::{Module, headers};
use std::collections::HashSet;
use target::{Target, Vendor};

fn target(vendor: Vendor, arch: &str) -> Target {
    Target { vendor, arch: arch.into() }
}

/// Returns the names of the modules whose identity differs between two states of the tree.
fn changed(before: &[(String, String)], after: &[(String, String)], modules: &[Module]) -> HashSet<String> {
    let target = target(Vendor::Amdgcn, "gfx90a");
    let (before, after) = (Identities::new(before), Identities::new(after));
    let changed = modules.iter().filter(|m| before.of(m, &target) != after.of(m, &target));
    changed.map(|m| m.name.clone()).collect()
}

fn file(name: &str, text: &str) -> (String, String) {
    (name.into(), text.into())
}

#[test]
fn a_changed_header_changes_exactly_the_modules_that_include_it() {
    let tree = [
        file("base.cuh", "base"),
        file("math.cuh", "#include \"base.cuh\"\nmath"),
        file("exp.cu", "  #include \"math.cuh\"\n#include <not_of_the_tree.h>\nexp"),
        file("copy.cu", "#include \"base.cuh\"\ncopy"),
        file("unused.cuh", "unused"),
    ];
    let modules = [Module::new("exp", "exp.cu"), Module::new("copy", "copy.cu")];
    for (name, expected) in [
        ("base.cuh", &["exp", "copy"][..]),
        ("math.cuh", &["exp"]),
        ("exp.cu", &["exp"]),
        ("copy.cu", &["copy"]),
        ("unused.cuh", &[]),
    ] {
        let mut after = tree.clone();
        let text = &mut after.iter_mut().find(|(n, _)| n == name).expect("it is in the tree").1;
        text.push(' ');
        assert_eq!(changed(&tree, &after, &modules), expected.iter().map(|m| m.to_string()).collect(), "{name}");
    }
    let mut reversed = tree.clone();
    reversed.reverse();
    assert!(changed(&tree, &reversed, &modules).is_empty(), "the order of files is no part of what is compiled");
}

#[test]
fn modules_targets_and_their_flags_are_told_apart() {
    let files: Vec<(String, String)> =
        headers().unwrap().iter().map(|(name, text)| (name.to_string(), text.clone())).collect();
    let identities = Identities::new(&files);
    let modules = isobit_kernels::manifest();
    let targets =
        [("sm_75", Vendor::Nvptx), ("sm_80", Vendor::Nvptx), ("gfx90a", Vendor::Amdgcn), ("gfx1100", Vendor::Amdgcn)]
            .map(|(arch, vendor)| target(vendor, arch));
    let all: HashSet<u128> = targets.iter().flat_map(|t| modules.iter().map(|m| identities.of(m, t))).collect();
    assert_eq!(all.len(), modules.len() * targets.len());
    let changed = target(Vendor::Amdgcn, "sm_80");
    assert_ne!(
        identities.of(&modules[0], &targets[1]),
        identities.of(&modules[0], &changed),
        "flags are no part of it"
    );
}

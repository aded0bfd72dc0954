//! The committed lists fit the sources, and name mutants for every kernel and driver file.

use isobit_mutants::list::{Class, FOLDER, faults, read};
use isobit_mutants::{root, touched};

#[test]
fn every_entry_fits_its_file() {
    let mutants = read(&root()).unwrap();
    let faults = faults(&root(), &mutants);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for class in Class::ALL {
        assert!(mutants.iter().any(|m| m.class() == class), "no mutant of class {class}");
    }
}

#[test]
fn every_kernel_file_and_driver_file_has_a_mutant() {
    let untouched = touched::untouched(&root(), &read(&root()).unwrap()).unwrap();
    let path = root().join(FOLDER).join(touched::FILE);
    let is_blessed = std::env::var_os("ISOBIT_BLESS").is_some_and(|v| v == "1");
    let mut tolerated = touched::tolerated(&root()).unwrap();
    if is_blessed {
        // Only removes: a new file needs mutants.
        tolerated.retain(|file| untouched.contains(file));
        let text: String = tolerated.iter().map(|file| format!("{file}\n")).collect();
        std::fs::write(&path, format!("# Files without a mutant. Do not add lines: write mutants.\n{text}")).unwrap();
    }
    let without: Vec<&String> = untouched.difference(&tolerated).collect();
    assert!(without.is_empty(), "write ten mutants each for {without:#?}; docs/mutants.md says how");
    let stale: Vec<&String> = tolerated.difference(&untouched).collect();
    assert!(stale.is_empty(), "these have mutants now; remove them from {}: {stale:#?}", path.display());
}

//! Every operation of hal has a family, a class and an example.

use isobit_hal::*;
use std::collections::BTreeSet;

/// Returns the variants of `Op`, read from its source, because an enum cannot list its own
/// variants.
fn variants() -> BTreeSet<String> {
    let source = include_str!("../../src/op/mod.rs");
    let body = source.split("pub enum Op {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
    let names = body.lines().filter_map(|line| line.strip_prefix("    "));
    let is_name = |line: &&str| line.starts_with(char::is_uppercase);
    names.filter(is_name).map(|line| line.split(['(', ' ', ',']).next().unwrap().to_string()).collect()
}

#[test]
fn every_operation_has_an_example() {
    let shown: BTreeSet<String> =
        Op::examples().iter().map(|op| format!("{op:?}").split(['(', ' ']).next().unwrap().to_string()).collect();
    let declared = variants();
    assert!(declared.len() > 40, "{declared:?}");
    let missing: Vec<_> = declared.difference(&shown).collect();
    assert!(missing.is_empty(), "Family::examples lacks {missing:?}");
}

#[test]
fn an_example_is_of_the_family_that_gives_it_and_has_a_name_of_its_own() {
    for &family in Family::ALL {
        assert!(!family.examples().is_empty(), "{family}");
        assert!(family.examples().iter().all(|op| op.family() == family), "{family}");
    }
    let names: BTreeSet<_> = Op::examples().iter().map(|op| op.name()).collect();
    assert_eq!(names.len(), Op::examples().len());
}

/// The folders of the kernel sources are named after families.
#[test]
fn every_family_is_a_folder_of_the_kernel_tree() {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels-common/src/ops");
    for family in Family::ALL {
        assert!(std::path::Path::new(tree).join(family.name()).is_dir(), "{family}");
    }
}

#[test]
fn a_choice_of_numerics_is_kept_where_there_is_one() {
    for op in Op::examples() {
        for &numerics in Numerics::ALL {
            let chosen = op.clone().with_numerics(Some(numerics));
            assert_eq!(chosen.numerics().is_some(), op.has_numerics(), "{op}");
            let vendor = chosen.class(&[DType::F16; 4]) == Class::Vendor;
            assert_eq!(vendor, op.has_vendor() && numerics == Numerics::Vendor, "{op}");
        }
    }
}

#[test]
fn no_library_has_attention_of_f32() {
    let vendor = Attention::new().with_numerics(Numerics::Vendor).causal().with_inputs(true, true);
    assert_eq!(vendor.numerics, Some(Numerics::Vendor));
    let class = |op, dtype| Op::ScaledDotProductAttention(op).class(&[dtype; 6]);
    assert_eq!([DType::F16, DType::BF16].map(|dtype| class(vendor, dtype)), [Class::Vendor; 2]);
    assert_eq!(class(vendor, DType::F32), Class::Defined);
    for other in [Attention::new(), vendor.with_numerics(Numerics::Portable), vendor.with_numerics(Numerics::Block)] {
        assert_eq!(DType::ALL.iter().filter(|&&dtype| class(other, dtype) != Class::Defined).count(), 0, "{other:?}");
    }
}

#[test]
fn numerics_are_what_they_are_printed_as() {
    for numerics in Numerics::ALL {
        assert_eq!(numerics.to_string().parse::<Numerics>().unwrap(), *numerics);
    }
    assert_eq!("cudnn".parse::<Numerics>().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

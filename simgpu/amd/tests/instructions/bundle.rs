//! Bundles of code for several targets.

use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_amd::loader::LoadError;
use isobit_simgpu_amd::loader::bundle::{MAGIC, choose};

fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let list: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
    let mut offset = MAGIC.len() + 8 + list;
    let mut out = [MAGIC, &(entries.len() as u64).to_le_bytes()].concat();
    for (id, code) in entries {
        for n in [offset, code.len(), id.len()] {
            out.extend((n as u64).to_le_bytes());
        }
        out.extend(id.as_bytes());
        offset += code.len();
    }
    entries.iter().for_each(|(_, code)| out.extend(*code));
    out
}

#[test]
fn the_code_that_fits_best_is_chosen() {
    let image = bundle(&[
        ("host-x86_64-unknown-linux", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"any"),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", b"plus"),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"minus"),
        ("hipv4-amdgcn-amd-amdhsa--gfx1030", b"other"),
    ]);
    assert_eq!(choose(Arch::Gfx90a, &image).unwrap(), b"minus");
    let Err(LoadError::NoCode { wanted, found }) = choose(Arch::Gfx1100, &image) else { panic!("it has no code") };
    assert_eq!((wanted.as_str(), found.len()), ("gfx1100", 4));
    for cut in 0..image.len() - 15 {
        assert!(choose(Arch::Gfx90a, &image[..cut]).is_err() || cut < MAGIC.len(), "{cut}");
    }
}

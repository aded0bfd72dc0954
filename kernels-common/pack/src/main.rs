//! Packs the code of every architecture of this build for the data crates: frames of one family
//! each, with a shared dictionary. `isobit-kernels-pack FOLDER` writes `FOLDER/<arch>/kernels.bin`,
//! where FOLDER is `kernels-common/code`.

#[allow(dead_code)]
#[path = "../../src/code/archive/mod.rs"]
mod archive;
mod squeeze;

use anyhow::{Context, Result, ensure};
use archive::{Archive, Writer};
use isobit_kernels_pack::frames;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let folder: PathBuf = std::env::args_os().nth(1).context("the folder of the data crates is the argument")?.into();
    let archives: Vec<_> = isobit_kernels::archives().collect();
    ensure!(!archives.is_empty(), "this build has no compiled kernels: is there a clang?");
    for (arch, file) in archives {
        pack(&folder, file).with_context(|| format!("packing {arch}"))?;
    }
    Ok(())
}

fn pack(folder: &Path, file: &[u8]) -> Result<()> {
    let built = Archive::parse(file)?;
    let modules = isobit_kernels::IMAGES;
    let code = unpack(&built)?;
    for image in modules {
        ensure!(code.contains_key(image.name), "the build has no code for the module {}", image.name);
    }
    let families = modules.iter().map(|image| (frames::family(image.text), image.name));
    let frames = frames::group(families, |name| code[name].len());
    let dictionary = squeeze::dictionary(code.values().map(Vec::as_slice))?;

    let mut writer = Writer::new(&dictionary);
    for names in &frames {
        let bytes: Vec<u8> = names.iter().flat_map(|name| &code[*name]).copied().collect();
        let frame = writer.frame(&squeeze::frame(&bytes, &dictionary)?, bytes.len(), true);
        let mut offset = 0;
        for name in names {
            let (identity, len) = (built.find(name).context("it was unpacked")?.identity, code[*name].len());
            writer.module(name, identity, frame, offset, len);
            offset += len;
        }
    }
    let packed = writer.finish(built.arch, built.compiler, built.flags);

    // The packed file is unpacked as programs do it, and compared.
    let again = unpack(&Archive::parse(&packed)?)?;
    ensure!(again == code, "the unpacked code differs from the code that was packed");
    let path = folder.join(built.arch).join("kernels.bin");
    std::fs::write(&path, &packed).with_context(|| format!("{} cannot be written", path.display()))?;
    let unpacked: usize = code.values().map(Vec::len).sum();
    println!(
        "{}: {} modules in {} frames, {:.1} MB packed to {:.2} MB, dictionary {} kB",
        built.arch,
        code.len(),
        frames.len(),
        unpacked as f64 / 1e6,
        packed.len() as f64 / 1e6,
        dictionary.len() / 1000
    );
    Ok(())
}

/// Returns the code of every module.
fn unpack<'a>(archive: &Archive<'a>) -> Result<BTreeMap<&'a str, Vec<u8>>> {
    let mut frames: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    let mut code = BTreeMap::new();
    for module in archive.modules() {
        let frame = match frames.entry(module.frame) {
            Entry::Occupied(unpacked) => unpacked.into_mut(),
            Entry::Vacant(new) => new.insert(archive.unpack(module.frame)?),
        };
        let bytes = frame.get(module.offset..module.offset + module.len);
        code.insert(module.name, bytes.context("checked when it was read")?.to_vec());
    }
    Ok(code)
}

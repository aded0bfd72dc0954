//! Writes the kernel table as Rust source, and packs the kernel sources next to it.

use super::archive::Writer;
use super::code::Code;
use super::manifest::Module;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub fn write(modules: &[Module], files: &[(String, String)], code: &Code) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut kernels: Vec<(u64, &str, usize)> = modules
        .iter()
        .enumerate()
        .flat_map(|(m, module)| module.instances.iter().map(move |i| (i.key.to_bits(), i.symbol.as_str(), m)))
        .collect();
    kernels.sort_unstable();
    for pair in kernels.windows(2) {
        assert!(pair[0].0 != pair[1].0, "kernels {} and {} have the same key", pair[0].1, pair[1].1);
    }

    let mut text = String::from("/// Every kernel, sorted by key.\npub static KERNELS: &[Entry] = &[\n");
    for (key, symbol, module) in &kernels {
        writeln!(text, "    Entry {{ key: Key::from_bits({key:#x}), symbol: {symbol:?}, module: {module} }},").unwrap();
    }
    text.push_str("];\n\n/// Every module.\npub static IMAGES: &[Image] = &[\n");
    for module in modules {
        let Module { name, variant, .. } = module;
        writeln!(text, "    Image {{ name: {name:?}, text: {:?}, variant: {variant:?} }},", module.text()).unwrap();
    }
    let count = code.archives.len();
    writeln!(
        text,
        "];\n\n/// The compiled code, an archive for each architecture.\npub(crate) static PACKED: [Packed; {count}] = ["
    )
    .unwrap();
    for (target, file) in &code.archives {
        let file = file.to_str().expect("cargo builds in folders whose names are text");
        writeln!(text, "    Packed::new(Target::{:?}, {:?}, include_bytes!({file:?})),", target.vendor, target.arch)
            .unwrap();
    }
    writeln!(
        text,
        "];\n\n/// An archive of every source file of the tree, by the name it is included by.\n\
         static SOURCES: Packed = Packed::new(Target::Nvptx, \"sources\", include_bytes!({:?}));",
        pack_sources(&out, files)
    )
    .unwrap();
    writeln!(
        text,
        "\n/// How the packed code was compiled.\npub static BUILD: BuildInfo = BuildInfo {{ compiler: {:?}, flags: {:?} }};",
        code.compiler, code.flags
    )
    .unwrap();
    std::fs::write(out.join("table.rs"), text).expect("OUT_DIR is writable");
}

/// Packs all files into one frame and returns the path of the archive.
fn pack_sources(out: &Path, files: &[(String, String)]) -> PathBuf {
    let all: String = files.iter().map(|(_, text)| text.as_str()).collect();
    let mut writer = Writer::new(&[]);
    let frame = writer.frame(&compress_to_vec(all.as_bytes(), CompressionLevel::Fastest), all.len(), false);
    let mut offset = 0;
    for (name, text) in files {
        writer.module(name, 0, frame, offset, text.len());
        offset += text.len();
    }
    let path = out.join("sources.bin");
    std::fs::write(&path, writer.finish("sources", "", "")).expect("OUT_DIR is writable");
    path
}

//! Writes the table of kernels and the packed code as Rust source.

use super::clang::{Built, Vendor};
use super::manifest::Module;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Packed once at a high level: it is read far more often than written, and unpacking costs the same.
const ZSTD_LEVEL: i32 = 15;

pub fn write(modules: &[Module], files: &[(String, String)], built: &Built) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut kernels: Vec<(u64, &str, usize)> = modules
        .iter()
        .enumerate()
        .flat_map(|(m, module)| module.instances.iter().map(move |i| (i.key.to_bits(), i.symbol.as_str(), m)))
        .collect();
    kernels.sort_unstable();
    for pair in kernels.windows(2) {
        assert!(pair[0].0 != pair[1].0, "kernels {} and {} have one key", pair[0].1, pair[1].1);
    }

    let mut text = String::from("/// Every kernel, sorted by key.\npub static KERNELS: &[Entry] = &[\n");
    for (key, symbol, module) in &kernels {
        writeln!(text, "    Entry {{ key: Key::from_bits({key:#x}), symbol: {symbol:?}, module: {module} }},").unwrap();
    }
    text.push_str("];\n\n/// Every module.\npub static IMAGES: &[Image] = &[\n");
    for (module, code) in modules.iter().zip(&built.code) {
        write!(text, "    Image {{ name: {:?}, text: {:?}, code: &[", module.name, module.text()).unwrap();
        for (target, file) in code {
            let mut bytes = std::fs::read(file).unwrap_or_else(|e| panic!("{} cannot be read: {e}", file.display()));
            if target.vendor == Vendor::Nvptx {
                bytes.push(0);
            }
            let packed = pack_once(&out, &format!("{}-{}", module.name, target.arch), file, &bytes);
            write!(
                text,
                "(crate::image::Target::{:?}, {:?}, include_bytes!({packed:?})), ",
                target.vendor, target.arch
            )
            .unwrap();
        }
        text.push_str("] },\n");
    }
    text.push_str("];\n\n/// Every source file of the tree by the name it is included by, packed.\npub static HEADERS: &[(&str, &[u8])] = &[\n");
    for (name, content) in files {
        let packed = pack(&out, &name.replace('/', "-"), content.as_bytes());
        writeln!(text, "    ({name:?}, include_bytes!({packed:?})),").unwrap();
    }
    writeln!(
        text,
        "];\n\n/// How the packed code was made.\npub static BUILD: BuildInfo = BuildInfo {{ compiler: {:?}, flags: {:?} }};",
        built.compiler, built.flags
    )
    .unwrap();
    std::fs::write(out.join("table.rs"), text).expect("OUT_DIR is writable");
}

/// As [`pack`], for what a compiled file holds: packed once in the life of that file, beside which it is kept. Packing the whole tree takes minutes.
fn pack_once(out: &Path, name: &str, file: &Path, bytes: &[u8]) -> String {
    let kept = file.with_extension("zst");
    let path = out.join(format!("{name}.zst"));
    if !kept.exists() || std::fs::copy(&kept, &path).is_err() {
        pack(out, name, bytes);
        // Renamed when whole, so that another build does not take half of it. A cache that cannot be written costs time alone.
        let part = kept.with_extension(format!("{}.zst.part", std::process::id()));
        let _ = std::fs::copy(&path, &part).and_then(|_| std::fs::rename(&part, &kept));
    }
    path.to_string_lossy().into_owned()
}

/// Writes a file packed into `out` and returns its path.
fn pack(out: &Path, name: &str, bytes: &[u8]) -> String {
    let path = out.join(format!("{name}.zst"));
    let packed = zstd::encode_all(bytes, ZSTD_LEVEL).expect("packing in memory does not fail");
    std::fs::write(&path, packed).expect("OUT_DIR is writable");
    path.to_string_lossy().into_owned()
}

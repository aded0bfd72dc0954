//! Builds one archive per architecture from modules and targets: reuses what was compiled before
//! and compiles the rest.

use super::archive::{Archive, Writer};
use super::clang::{self, Clang, Job};
use super::identity::Identities;
use super::manifest::Module;
use super::prebuilt;
use super::target::{FLAGS, Target, Vendor};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::collections::HashMap;
use std::path::PathBuf;

/// The code that is packed into the library.
pub struct Code {
    /// The compilers and their versions, or the reason why there is none.
    pub compiler: String,
    /// Their flags, without those of the target.
    pub flags: String,
    /// The archive of each target that has any code.
    pub archives: Vec<(Target, PathBuf)>,
}

/// The code of an architecture that exists before compiling, and what is missing.
struct Plan<'a> {
    target: &'a Target,
    /// The file of the data crate; empty if there is none.
    prebuilt: Vec<u8>,
    /// The identity of each module, by index.
    identities: Vec<u128>,
    /// The indices of the modules for which the data crate has no matching code.
    missing: Vec<usize>,
}

/// Compiles the missing modules and writes the archives.
pub fn gather(modules: &[Module], sources: &[(String, String)], targets: &[Target]) -> Code {
    let flags = FLAGS.join(" ");
    if targets.is_empty() {
        let why = if std::env::var_os("CARGO_FEATURE_CUDA").or(std::env::var_os("CARGO_FEATURE_ROCM")).is_some() {
            "none: sources only, no architecture is chosen"
        } else {
            "none: no GPU driver is chosen"
        };
        return Code { compiler: why.into(), flags, archives: Vec::new() };
    }
    let identities = Identities::new(sources);
    let plans: Vec<Plan<'_>> = targets.iter().map(|target| plan(modules, &identities, target)).collect();
    // Only searched for if something is missing: a release has everything.
    let clang = if plans.iter().all(|plan| plan.missing.is_empty()) { None } else { find_or_say() };
    let mut compiled = compile(clang.as_ref(), modules, &plans);
    let mut compilers: Vec<String> = Vec::new();
    let mut archives = Vec::new();
    for plan in plans {
        let own = compiled.remove(plan.target.arch.as_str()).unwrap_or_default();
        if plan.missing.len() == modules.len() && own.is_empty() {
            continue;
        }
        let (file, made_by) = archive(modules, &plan, &own, clang.as_ref());
        compilers.extend(made_by);
        archives.push((plan.target.clone(), file));
    }
    compilers.sort();
    compilers.dedup();
    if compilers.is_empty() {
        compilers.push("none: sources only, compiled by the device's run-time compiler".into());
    }
    Code { compiler: compilers.join("; "), flags, archives }
}

fn plan<'a>(modules: &[Module], identities: &Identities<'_>, target: &'a Target) -> Plan<'a> {
    let prebuilt = prebuilt::read(&target.arch).unwrap_or_default();
    let identities: Vec<u128> = modules.iter().map(|module| identities.of(module, &target.of(module))).collect();
    let archive = parsed(&prebuilt);
    let has = |m: usize| {
        let module = archive.as_ref().and_then(|archive| archive.find(&modules[m].name));
        module.is_some_and(|module| module.identity == identities[m])
    };
    let missing = (0..modules.len()).filter(|&m| !has(m)).collect();
    Plan { target, prebuilt, identities, missing }
}

fn parsed(file: &[u8]) -> Option<Archive<'_>> {
    (!file.is_empty()).then(|| Archive::parse(file).expect("it was read before"))
}

fn find_or_say() -> Option<Clang> {
    let clang = clang::find();
    if clang.is_none() {
        println!(
            "cargo::warning=no clang 19 or newer was found: kernel sources are embedded uncompiled, and devices compile what they use \
             with NVRTC or HIPRTC. Install clang-19 and lld-19, or name one in ISOBIT_CLANG."
        );
    }
    clang
}

/// The compiled files, by architecture and index of the module.
type Compiled<'a> = HashMap<&'a str, HashMap<usize, PathBuf>>;

fn compile<'a>(clang: Option<&Clang>, modules: &[Module], plans: &[Plan<'a>]) -> Compiled<'a> {
    let Some(clang) = clang else { return HashMap::new() };
    let job = |plan: &Plan<'a>, m: usize| Job {
        module: &modules[m],
        target: plan.target.of(&modules[m]),
        identity: plan.identities[m],
    };
    let places: Vec<(&'a str, usize)> =
        plans.iter().flat_map(|plan| plan.missing.iter().map(|&m| (plan.target.arch.as_str(), m))).collect();
    let jobs: Vec<Job<'_>> = plans.iter().flat_map(|plan| plan.missing.iter().map(|&m| job(plan, m))).collect();
    let mut compiled = Compiled::new();
    for ((arch, m), file) in places.into_iter().zip(clang::compile(clang, &jobs)) {
        compiled.entry(arch).or_default().insert(m, file);
    }
    compiled
}

/// Returns the archive of one architecture and the compilers that made its content.
fn archive(
    modules: &[Module],
    plan: &Plan<'_>,
    own: &HashMap<usize, PathBuf>,
    clang: Option<&Clang>,
) -> (PathBuf, Vec<String>) {
    let arch = plan.target.arch.as_str();
    if plan.missing.is_empty() {
        let compiler = parsed(&plan.prebuilt).expect("it has every module").compiler;
        return (prebuilt::file(arch).expect("it was read before"), vec![compiler.into()]);
    }
    let prebuilt = parsed(&plan.prebuilt);
    let dictionary = prebuilt.as_ref().map(|archive| archive.dictionary().unwrap_or_else(|e| panic!("{e}")));
    let mut writer = Writer::new(dictionary.unwrap_or_default());
    let mut compilers = Vec::new();
    if let Some(prebuilt) = prebuilt.as_ref().filter(|_| plan.missing.len() < modules.len()) {
        take_over(&mut writer, prebuilt, modules, plan);
        compilers.push(prebuilt.compiler.to_string());
    }
    for (&m, file) in own {
        let (packed, unpacked) = packed(file, plan.target.vendor);
        let frame = writer.frame(&packed, unpacked, false);
        writer.module(&modules[m].name, plan.identities[m], frame, 0, unpacked);
    }
    if let Some(clang) = clang.filter(|_| !own.is_empty()) {
        compilers.push(clang.name().into());
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(format!("{arch}.bin"));
    let file = writer.finish(arch, &compilers.join("; "), &plan.target.flags().join(" "));
    std::fs::write(&out, file).expect("OUT_DIR is writable");
    (out, compilers)
}

/// Copies the packed frames of a data crate that contain a module which still matches.
fn take_over(writer: &mut Writer, prebuilt: &Archive<'_>, modules: &[Module], plan: &Plan<'_>) {
    let mut frames = HashMap::new();
    for m in (0..modules.len()).filter(|m| !plan.missing.contains(m)) {
        let module = prebuilt.find(&modules[m].name).expect("it is not missing");
        let frame = *frames.entry(module.frame).or_insert_with(|| {
            let packed = prebuilt.packed(module.frame).unwrap_or_else(|e| panic!("{e}"));
            let frame = prebuilt.frame(module.frame);
            writer.frame(packed, frame.unpacked, frame.with_dictionary)
        });
        writer.module(module.name, module.identity, frame, module.offset, module.len);
    }
}

/// Returns a compiled file in packed form, and its unpacked size. Each file is packed only once;
/// the result is stored next to it.
pub fn packed(file: &std::path::Path, vendor: Vendor) -> (Vec<u8>, usize) {
    let mut bytes = std::fs::read(file).unwrap_or_else(|e| panic!("{} cannot be read: {e}", file.display()));
    if vendor == Vendor::Nvptx {
        // The driver reads text up to its NUL.
        bytes.push(0);
    }
    let kept = file.with_extension("zst");
    let packed = std::fs::read(&kept).unwrap_or_else(|_| {
        let packed = compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest);
        // Renamed when complete, so that another build does not read a partial file. A cache that
        // cannot be written only costs time.
        let part = kept.with_extension(format!("{}.zst.part", std::process::id()));
        let _ = std::fs::write(&part, &packed).and_then(|()| std::fs::rename(&part, &kept));
        packed
    });
    (packed, bytes.len())
}

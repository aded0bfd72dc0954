//! Compiles source to code: collects the headers it may include, calls the compiler, and caches the
//! result on disk.

use crate::code::includes::includes;
use crate::code::rtc::{CompileCache, RtcSource};
use crate::code::table;
use crate::counters::Counts;
use crate::runtime::GpuRuntime;
use isobit_hal::{Error, ErrorKind, KernelSource, Result, trace};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Names a folder of kernel sources that replace the embedded ones: every module is compiled from
/// them on the device, so a changed kernel can be tried without a build. Files that are missing
/// there are taken from the embedded sources.
pub const SOURCES_VARIABLE: &str = "ISOBIT_KERNEL_SOURCES";

/// Options for the modules of the tree, separated by spaces, in the spelling of the device's
/// compiler (`-lineinfo` for NVRTC, `-gline-tables-only` for HIPRTC). If there are any, every
/// module is compiled on the device.
pub const OPTIONS_VARIABLE: &str = "ISOBIT_KERNEL_OPTIONS";

/// Returns the options of [`OPTIONS_VARIABLE`].
pub(crate) fn tree_options() -> Vec<String> {
    let options = std::env::var(OPTIONS_VARIABLE).unwrap_or_default();
    options.split_whitespace().map(str::to_owned).collect()
}

pub(crate) fn sources_folder() -> Option<PathBuf> {
    std::env::var_os(SOURCES_VARIABLE).map(PathBuf::from)
}

/// Returns every source of the tree, by the name under which it is included.
pub(crate) fn tree_headers() -> Result<Vec<(&'static str, Cow<'static, str>)>> {
    let folder = sources_folder();
    let other = |name: &str| std::fs::read_to_string(folder.as_ref()?.join(name)).ok();
    let embedded = table::headers()?.iter();
    Ok(embedded.map(|(name, text)| (*name, other(name).map_or(Cow::from(text), Cow::from))).collect())
}

/// Returns the sources that a module of the tree includes, directly or indirectly. The disk cache
/// then keeps the module's code while other sources change.
pub(crate) fn headers_of(module: &str) -> Result<Vec<(&'static str, Cow<'static, str>)>> {
    let mut left: BTreeMap<_, _> = tree_headers()?.into_iter().collect();
    let (mut found, mut next) = (Vec::new(), names(module));
    while let Some(name) = next.pop() {
        if let Some((name, text)) = left.remove_entry(name.as_str()) {
            next.extend(names(&text));
            found.push((name, text));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn names(text: &str) -> Vec<String> {
    includes(text).map(str::to_string).collect()
}

/// Returns the code for a source, from the disk cache or newly compiled.
pub(crate) fn compile<R: GpuRuntime>(runtime: &R, counts: &Counts, source: &RtcSource<'_>) -> Result<Vec<u8>> {
    let compiler = runtime.compiler()?;
    let (name, arch, mut compiled) = (source.name, runtime.arch(), false);
    let mut made = || {
        compiled = true;
        counts.compiles.add();
        let _span = tracing::debug_span!(target: trace::TARGET, "compile", name, arch, compiler).entered();
        runtime.compile(source).map_err(|e| rejected(e, name, arch, &compiler))
    };
    if source.options.iter().any(|option| reads_files(option)) {
        return made();
    }
    let code = CompileCache::of_environment().get_or_compile(source, (R::TARGET, arch, &compiler), made)?;
    if !compiled {
        counts.compile_hits.add();
        tracing::debug!(target: trace::TARGET, name, arch, compiler, "compiled code found on disk");
    }
    Ok(code)
}

/// Returns the code for a user's source. The tree's headers are available in addition to its own.
///
/// # Errors
/// Returns `InvalidArgument` if two headers have the same name or a text has a NUL,
/// `LibraryUnavailable` if there is no compiler, and `CompileFailed` with the compiler's log.
pub(super) fn compile_custom<R: GpuRuntime>(
    runtime: &R,
    counts: &Counts,
    module: &str,
    source: &KernelSource,
) -> Result<Vec<u8>> {
    let own: Vec<(&str, &str)> = source.headers.iter().map(|(name, text)| (&**name, &**text)).collect();
    for (i, (name, _)) in own.iter().enumerate() {
        if own[..i].iter().any(|(other, _)| other == name) {
            let message = format!("the source {} has two headers named {name}: header names must differ", source.name);
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    }
    let tree = tree_headers()?;
    let tree = tree.iter().map(|(name, text)| (*name, &**text));
    let headers: Vec<_> =
        own.iter().copied().chain(tree.filter(|(name, _)| own.iter().all(|o| o.0 != *name))).collect();
    let options: Vec<&str> = source.options.iter().map(String::as_str).collect();
    let name = [&source.name, module, "kernel.cu"].into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    compile(runtime, counts, &RtcSource { name, text: &source.text, headers: &headers, options: &options })
}

/// Whether an option makes the compiler read files. They may change while the source stays the
/// same, so the result is not cached on disk.
fn reads_files(option: &str) -> bool {
    let flags =
        ["-I", "--include-path", "-include", "--pre-include", "-pre-include", "-i", "--options-file", "-optf", "@"];
    flags.iter().any(|flag| option.starts_with(flag))
}

/// Turns the compiler's error into one that shows its first error line. The whole log is the source
/// of the error.
#[cold]
fn rejected(error: Error, name: &str, arch: &str, compiler: &str) -> Error {
    let log = std::error::Error::source(&error).map(ToString::to_string);
    let (ErrorKind::CompileFailed, Some(log)) = (error.kind(), log) else { return error };
    let first = log.lines().find(|line| line.contains("error")).or_else(|| log.lines().next()).unwrap_or_default();
    let message = format!("{name} does not compile for {arch} with {compiler}: {}", first.trim());
    let explained = Error::new(ErrorKind::CompileFailed, message).with_source(log.clone());
    match error.native() {
        Some(native) => explained.with_native(native.code, native.name.clone()),
        None => explained,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_has_the_headers_that_it_includes_and_no_others() {
        let headers = headers_of("#include \"ops/sort/tile.cu\"\nTILE(x)\n").unwrap();
        let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
        for included in ["ops/sort/tile.cu", "ops/sort/network.cuh", "device_lib/base.cuh"] {
            assert!(names.contains(&included), "{included} is not in {names:?}");
        }
        assert!(!names.iter().any(|name| name.starts_with("ops/reduce/")), "{names:?}");
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
        assert!(headers_of("int x;").unwrap().is_empty());
    }

    #[test]
    fn options_that_name_files_are_known() {
        for option in [
            "-I",
            "-I/usr/include",
            "--include-path=x",
            "-include",
            "-isystem",
            "-imacros",
            "--pre-include=a.h",
            "@flags",
        ] {
            assert!(reads_files(option), "{option}");
        }
        for option in ["-DI=1", "--use_fast_math", "-O3", "--define-macro=X", "-lineinfo", "-maxrregcount=32"] {
            assert!(!reads_files(option), "{option}");
        }
    }

    #[test]
    fn a_refusal_says_what_the_compiler_said_first() {
        let log = "a.cu(1): warning: unused\na.cu(3): error: identifier \"g\" is undefined\n1 error detected";
        let refused =
            Error::new(ErrorKind::CompileFailed, "NVRTC, compiling").with_native(6, "COMPILATION").with_source(log);
        let error = rejected(refused, "a.cu", "sm_80", "NVRTC 13.0");
        assert_eq!(
            error.message(),
            "a.cu does not compile for sm_80 with NVRTC 13.0: a.cu(3): error: identifier \"g\" is undefined"
        );
        assert_eq!(error.native().map(|n| n.code), Some(6));
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), log);
        let other = rejected(Error::new(ErrorKind::LibraryUnavailable, "no NVRTC"), "a.cu", "sm_80", "");
        assert_eq!(other.message(), "no NVRTC");
    }
}

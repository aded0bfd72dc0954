//! Source for a run-time compiler, in the form that both NVRTC and HIPRTC take, and the disk cache
//! of compiled code.

use crate::code::target::Target;
use isobit_hal::{Error, ErrorKind, Result};
use std::ffi::{CString, c_char};
use std::io::Write as _;
use std::path::PathBuf;
use twox_hash::XxHash3_128;

/// Source for a run-time compiler: one translation unit and the headers it may include, by name.
///
/// ```
/// use isobit_kernels::{RtcArguments, RtcSource, Target};
///
/// let source = RtcSource {
///     name: "kernel.cu",
///     text: "#include \"n.cuh\"\n",
///     headers: &[("n.cuh", "#define N 4\n")],
///     options: &["-DDEBUG"],
/// };
/// // As arguments of NVRTC for an sm_80 card: the tree's own options come first.
/// let arguments = RtcArguments::new(&source, Target::Nvptx, "sm_80")?;
/// assert_eq!((arguments.headers.count(), arguments.options.count()), (1, 7));
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RtcSource<'a> {
    /// A name for messages.
    pub name: &'a str,
    /// The source text.
    pub text: &'a str,
    /// The name and the text of each header.
    pub headers: &'a [(&'a str, &'a str)],
    /// Options appended to those of [`compile_options`]. One that names an architecture replaces
    /// it.
    pub options: &'a [&'a str],
}

/// Returns the options for compiling the tree, in the compiler's own spelling: no contraction, IEEE
/// division and square root, denormals kept.
///
/// ```
/// use isobit_kernels::{Target, compile_options};
///
/// let options = compile_options(Target::Nvptx, "sm_80");
/// assert!(options.contains(&"--gpu-architecture=compute_80".to_string()));
/// assert!(options.contains(&"--fmad=false".to_string()));
/// ```
pub fn compile_options(target: Target, arch: &str) -> Vec<String> {
    let common = ["-std=c++20"];
    let own: Vec<String> = match target {
        Target::Nvptx => vec![
            architecture_option(target, arch),
            "--fmad=false".into(),
            "--ftz=false".into(),
            "--prec-div=true".into(),
            "--prec-sqrt=true".into(),
        ],
        Target::Amdgcn => vec![
            architecture_option(target, arch),
            "-ffp-contract=off".into(),
            "-fhip-fp32-correctly-rounded-divide-sqrt".into(),
        ],
    };
    common.iter().map(|s| s.to_string()).chain(own).collect()
}

/// Returns the option that names the architecture.
pub(crate) fn architecture_option(target: Target, arch: &str) -> String {
    match target {
        Target::Nvptx => format!("--gpu-architecture={}", arch.replace("sm_", "compute_")),
        Target::Amdgcn => format!("--offload-arch={arch}"),
    }
}

/// Strings in the form that a compiler's C interface takes: an array of pointers.
#[derive(Debug)]
pub struct CStrings {
    strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl CStrings {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Self> {
        let strings = texts.map(c_string).collect::<Result<Vec<_>>>()?;
        let pointers = strings.iter().map(|s| s.as_ptr()).collect();
        Ok(Self { strings, pointers })
    }

    /// Returns the array with one pointer per string. It is valid as long as `self`.
    pub fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }

    /// Returns the number of strings as an `int`, which compiler interfaces use. It cannot
    /// overflow: no source has that many headers.
    pub fn count(&self) -> i32 {
        self.strings.len() as i32
    }
}

/// A source and its options as C strings.
#[derive(Debug)]
pub struct RtcArguments {
    /// The source text.
    pub text: CString,
    /// The name of the source.
    pub name: CString,
    /// The texts of the headers.
    pub headers: CStrings,
    /// The names under which the headers are included, in the same order.
    pub include_names: CStrings,
    /// The options of [`compile_options`], followed by those of the source.
    pub options: CStrings,
}

impl RtcArguments {
    /// # Errors
    /// Returns `InvalidArgument` if a text contains a NUL.
    pub fn new(source: &RtcSource<'_>, target: Target, arch: &str) -> Result<Self> {
        let own = compile_options(target, arch);
        // Compilers refuse a second architecture.
        let is_architecture =
            |option: &str| option.split('=').next() == architecture_option(target, arch).split('=').next();
        let replaced =
            |option: &str| is_architecture(option) && source.options.iter().any(|given| is_architecture(given));
        Ok(Self {
            text: c_string(source.text)?,
            name: c_string(source.name)?,
            headers: CStrings::new(source.headers.iter().map(|(_, text)| *text))?,
            include_names: CStrings::new(source.headers.iter().map(|(name, _)| *name))?,
            options: CStrings::new(
                (own.iter().map(String::as_str).filter(|option| !replaced(option)))
                    .chain(source.options.iter().copied()),
            )?,
        })
    }
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|e| Error::new(ErrorKind::InvalidArgument, "source text must not contain a NUL").with_source(e))
}

/// Names the folder of cached compiled code; if empty, nothing is cached. The default is `isobit`
/// in the user's cache folder.
pub const CACHE_VARIABLE: &str = "ISOBIT_COMPILE_CACHE";

/// A folder of compiled code. Each file is named after a hash of everything that determines its
/// content.
#[derive(Debug, Clone)]
pub(crate) struct CompileCache(Option<PathBuf>);

impl CompileCache {
    /// Returns the folder that the environment names.
    pub(crate) fn of_environment() -> Self {
        let set = |name| std::env::var_os(name).map(PathBuf::from);
        let folder = set(CACHE_VARIABLE).or_else(|| {
            let user = set("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| Some(set("HOME")?.join(".cache")));
            Some(user?.join("isobit"))
        });
        Self(folder.filter(|f| !f.as_os_str().is_empty()))
    }

    /// Returns the code for a source, from the folder or from `compile`. If the folder cannot be
    /// read or written, the only cost is time.
    pub(crate) fn get_or_compile(
        &self,
        source: &RtcSource<'_>,
        (target, arch, compiler): (Target, &str, &str),
        compile: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<Vec<u8>> {
        let Some(folder) = &self.0 else { return compile() };
        let mut hasher = XxHash3_128::new();
        let mut add = |part: &str| {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part.as_bytes());
        };
        // The name is not included: the same text gives the same code under any name.
        [compiler, arch, source.text].into_iter().for_each(&mut add);
        let options = compile_options(target, arch);
        let options: Vec<&str> = options.iter().map(String::as_str).chain(source.options.iter().copied()).collect();
        // Options and headers are counted, so that one cannot be confused with the other.
        add(&options.len().to_string());
        options.into_iter().for_each(&mut add);
        source.headers.iter().for_each(|(name, text)| [name, text].into_iter().for_each(|part| add(part)));
        let key = hasher.finish_128();
        let file = folder.join(format!("{key:032x}.bin"));
        if let Some(code) = std::fs::read(&file).ok().and_then(|file| checked(key, file)) {
            return Ok(code);
        }
        let code = compile()?;
        // The code is written to a temporary file and renamed, so that concurrent processes do not
        // mix their output and an interrupted one leaves no partial file.
        let kept = std::fs::create_dir_all(folder).and_then(|()| {
            let mut part = tempfile::NamedTempFile::new_in(folder)?;
            part.write_all(&seal(key, &code).to_le_bytes())?;
            part.write_all(&code)?;
            part.persist(&file).map_err(|e| e.error)
        });
        drop(kept);
        Ok(code)
    }
}

/// Returns the hash with which the file of a key starts. It covers the key too, so that a file
/// which was renamed, or written by a release with other keys, is not used.
fn seal(key: u128, code: &[u8]) -> u128 {
    let mut hasher = XxHash3_128::new();
    hasher.write(&key.to_le_bytes());
    hasher.write(code);
    hasher.finish_128()
}

/// Returns the code in the file of a key: corrupt data, or the code of another source, must never
/// run as a kernel.
fn checked(key: u128, mut file: Vec<u8>) -> Option<Vec<u8>> {
    let (hash, code) = file.split_first_chunk()?;
    if seal(key, code) != u128::from_le_bytes(*hash) {
        return None;
    }
    file.drain(..size_of::<u128>());
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: RtcSource<'_> =
        RtcSource { name: "m", text: "text", headers: &[("a.cuh", "one"), ("b.cuh", "two")], options: &["-DA"] };

    /// Whether the code was compiled rather than read from the cache.
    fn compiles(cache: &CompileCache, source: &RtcSource<'_>, arch: &str, compiler: &str) -> bool {
        let mut compiled = false;
        let made = format!("{arch} {compiler} {:?}", (source.text, source.headers, source.options)).into_bytes();
        let code = cache.get_or_compile(source, (Target::Amdgcn, arch, compiler), || {
            compiled = true;
            Ok(made.clone())
        });
        assert_eq!(code.unwrap(), made);
        compiled
    }

    #[test]
    fn code_is_found_again_and_everything_that_went_into_it_counts() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache(Some(folder.path().join("made when first used")));
        assert!(compiles(&cache, &SOURCE, "gfx1151", "HIPRTC 7.0"));
        assert!(!compiles(&cache, &SOURCE, "gfx1151", "HIPRTC 7.0"));
        assert!(compiles(&cache, &SOURCE, "gfx1150", "HIPRTC 7.0"));
        assert!(compiles(&cache, &SOURCE, "gfx1151", "HIPRTC 7.1"));
        assert!(compiles(&cache, &RtcSource { text: "texu", ..SOURCE }, "gfx1151", "HIPRTC 7.0"));
        let moved = RtcSource { headers: &[("a.cuh", "onet"), ("b.cuh", "wo")], ..SOURCE };
        assert!(compiles(&cache, &moved, "gfx1151", "HIPRTC 7.0"));
        let renamed = RtcSource { headers: &[("a.cuh", "one"), ("c.cuh", "two")], ..SOURCE };
        assert!(compiles(&cache, &renamed, "gfx1151", "HIPRTC 7.0"));
        for options in [&["-DB"][..], &[], &["-DA", "-DB"], &["-DA", "a.cuh", "one"]] {
            assert!(compiles(&cache, &RtcSource { options, ..SOURCE }, "gfx1151", "HIPRTC 7.0"), "{options:?}");
        }
        assert!(!compiles(&cache, &SOURCE, "gfx1151", "HIPRTC 7.0"));
        assert!(!compiles(&cache, &RtcSource { name: "n", ..SOURCE }, "gfx1151", "HIPRTC 7.0"));
    }

    #[test]
    fn a_damaged_file_is_compiled_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache(Some(folder.path().into()));
        assert!(compiles(&cache, &SOURCE, "gfx1151", "c"));
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let whole = std::fs::read(&file).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..10], &[&whole[..40], b"x", &whole[41..]].concat()] {
            std::fs::write(&file, damaged).unwrap();
            assert!(compiles(&cache, &SOURCE, "gfx1151", "c"));
            assert!(!compiles(&cache, &SOURCE, "gfx1151", "c"));
        }
    }

    #[test]
    fn the_file_of_another_source_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache(Some(folder.path().into()));
        let only = || std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        assert!(compiles(&cache, &SOURCE, "gfx1151", "c"));
        let (file, code) = (only(), std::fs::read(only()).unwrap());
        std::fs::remove_file(&file).unwrap();
        assert!(compiles(&cache, &RtcSource { text: "another", ..SOURCE }, "gfx1151", "c"));
        std::fs::write(only(), &code).unwrap();
        assert!(compiles(&cache, &RtcSource { text: "another", ..SOURCE }, "gfx1151", "c"));
        std::fs::write(&file, &code).unwrap();
        assert!(!compiles(&cache, &SOURCE, "gfx1151", "c"), "its own file is");
    }

    #[test]
    fn no_folder_is_no_error() {
        assert!(compiles(&CompileCache(None), &SOURCE, "gfx1151", "c"));
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = CompileCache(Some(file.path().join("below a file")));
        assert!(compiles(&cache, &SOURCE, "gfx1151", "c"));
        assert!(compiles(&cache, &SOURCE, "gfx1151", "c"));
    }
}

//! The options of a compilation: those that HIPRTC passes on to clang, and those that it rejects.

/// Options whose value may be the next option.
const WITH_VALUE: &[&str] = &["-I", "-D", "-U", "-include", "-isystem", "-mllvm", "-Xclang"];

/// Options that would make clang write something other than one code object, or write to another
/// place.
const FOREIGN: &[&str] =
    &["-c", "-S", "-E", "-o", "-x", "-M", "-MM", "-MD", "-MMD", "-emit-llvm", "-fsyntax-only", "-save-temps"];

/// Options in clang's spelling, and those that HIPRTC handles itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Names of architectures, which may include features: `gfx90a:xnack-`.
    pub(crate) archs: Vec<String>,
    /// Options that are passed to clang unchanged.
    pub(crate) rest: Vec<String>,
}

/// Sorts the options.
///
/// # Errors
/// A message that names the option that HIPRTC does not support.
pub(crate) fn parse(options: &[&str]) -> Result<Options, String> {
    let mut parsed = Options { archs: Vec::new(), rest: Vec::new() };
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        let bad = |why: &str| Err(format!("hiprtc: {option:?}: {why}"));
        // The second spelling is HIPRTC's own, for compatibility with NVRTC.
        let arch = option.strip_prefix("--offload-arch=").or_else(|| option.strip_prefix("--gpu-architecture="));
        if let Some(arch) = arch {
            if !arch.starts_with("gfx") {
                return bad("is not an AMD architecture");
            }
            parsed.archs.push(arch.into());
        } else if WITH_VALUE.contains(&option) {
            let Some(&value) = options.next() else { return bad("needs a value") };
            parsed.rest.extend([option.to_string(), value.to_string()]);
        } else if FOREIGN.contains(&option) || option.starts_with("-save-temps=") {
            return bad("is not supported by a run-time compiler");
        } else if option.len() > 1 && option.starts_with('-') {
            parsed.rest.push(option.into());
        } else {
            return bad("is not an option");
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn options_are_sorted() {
        let options =
            ["-std=c++20", "--offload-arch=gfx90a:sramecc+:xnack-", "-I", "/a b", "-DX=1", "-ffp-contract=off"];
        let parsed = parse(&options).unwrap();
        assert_eq!(parsed.archs, ["gfx90a:sramecc+:xnack-"]);
        assert_eq!(parsed.rest, ["-std=c++20", "-I", "/a b", "-DX=1", "-ffp-contract=off"]);
        assert_eq!(parse(&["--gpu-architecture=gfx1100"]).unwrap().archs, ["gfx1100"]);
    }

    #[test]
    fn what_is_no_option_is_named() {
        for bad in ["-o", "-S", "-save-temps=cwd", "file.cpp", "-", "", "--gpu-architecture=compute_80"] {
            assert!(parse(&["-O2", bad]).unwrap_err().contains(&format!("{bad:?}")));
        }
        assert!(parse(&["-I"]).unwrap_err().contains("needs a value"));
    }
}

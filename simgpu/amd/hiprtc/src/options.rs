//! The options of a compilation: what HIPRTC hands on to clang, and what has no meaning for it.

/// Options whose value may follow as an option of its own.
const WITH_VALUE: &[&str] = &["-I", "-D", "-U", "-include", "-isystem", "-mllvm", "-Xclang"];

/// Options that would make clang write something else than one code object, or somewhere else.
const FOREIGN: &[&str] =
    &["-c", "-S", "-E", "-o", "-x", "-M", "-MM", "-MD", "-MMD", "-emit-llvm", "-fsyntax-only", "-save-temps"];

/// Options in clang's spelling, and what they leave to HIPRTC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Names of architectures, which may have features: `gfx90a:xnack-`.
    pub(crate) archs: Vec<String>,
    /// What goes to clang as it is.
    pub(crate) rest: Vec<String>,
}

/// Sorts options.
///
/// # Errors
/// The option that HIPRTC has no meaning for.
pub(crate) fn parse(options: &[&str]) -> Result<Options, String> {
    let mut parsed = Options { archs: Vec::new(), rest: Vec::new() };
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        let bad = |why: &str| Err(format!("hiprtc: {option:?}: {why}"));
        // The second is HIPRTC's own, for NVRTC's sake.
        let arch = option.strip_prefix("--offload-arch=").or_else(|| option.strip_prefix("--gpu-architecture="));
        if let Some(arch) = arch {
            if !arch.starts_with("gfx") {
                return bad("is no AMD architecture");
            }
            parsed.archs.push(arch.into());
        } else if WITH_VALUE.contains(&option) {
            let Some(&value) = options.next() else { return bad("needs a value") };
            parsed.rest.extend([option.to_string(), value.to_string()]);
        } else if FOREIGN.contains(&option) || option.starts_with("-save-temps=") {
            return bad("is not for a run-time compiler");
        } else if option.len() > 1 && option.starts_with('-') {
            parsed.rest.push(option.into());
        } else {
            return bad("is no option");
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

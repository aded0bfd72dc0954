//! The language of faults: `CALL:N:CODE`, separated by commas.

use crate::library::{LIBRARIES, Library, Vendor};

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The function that fails.
    pub call: String,
    /// Which of its calls fail.
    pub at: Occurrence,
    /// What happens.
    pub effect: Effect,
}

/// Which calls of a function fail. The first call is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// `3`: one call.
    Nth(u64),
    /// `3+`: that call and all later ones; `*` is every call.
    From(u64),
}

impl Occurrence {
    /// Whether the `n`-th call fails.
    pub fn is(self, n: u64) -> bool {
        match self {
            Self::Nth(only) => n == only,
            Self::From(first) => n >= first,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |digits: &str| digits.parse().ok().filter(|&n| n > 0);
        match text.strip_suffix('+') {
            _ if text == "*" => Some(Self::From(1)),
            Some(first) => number(first).map(Self::From),
            None => number(text).map(Self::Nth),
        }
    }
}

/// What a fault does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The call returns this code and does nothing else.
    Code(i32),
    /// The device is lost: this call and every later one on the device return the code of a failed
    /// launch.
    Lost,
    /// The module that the call loads has lost its second half.
    Corrupt,
    /// The library does not have the function.
    Absent,
}

/// Parses faults and returns those of a vendor: one process can have the cards of both.
///
/// `code` returns the number of a runtime's code by its name, for example of `hipErrorOutOfMemory`.
/// `exports` says whether a library has a function.
///
/// # Errors
/// Says which entry is wrong, what it should be, and what is known instead.
pub fn parse(
    text: &str,
    vendor: Vendor,
    code: impl Fn(&str) -> Option<i32>,
    exports: impl Fn(&Library, &str) -> bool,
) -> Result<Vec<Fault>, String> {
    let mut faults = Vec::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let wrong = |why: String| format!("{entry:?}: {why}");
        let parts: Vec<&str> = entry.split(':').map(str::trim).collect();
        let [call, occurrence, effect] = parts[..] else {
            return Err(wrong("a fault is CALL:N:CODE, such as cuMemAlloc_v2:1:CUDA_ERROR_OUT_OF_MEMORY".into()));
        };
        let library = library_of(call, vendor).map_err(wrong)?;
        let at = Occurrence::parse(occurrence).ok_or_else(|| {
            wrong(format!("{occurrence:?} is not a number of a call: 1 is the first, 2+ all from the second on, * all"))
        })?;
        let is_other = library.vendor != vendor;
        if library.infallible.contains(&call) && effect != "absent" {
            return Err(wrong(format!("{call} returns no status, so it can only be absent")));
        }
        if !is_other && effect != "absent" && !exports(library, call) {
            let versioned = (2..=4).map(|version| format!("{call}_v{version}")).find(|name| exports(library, name));
            let hint = versioned.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            return Err(wrong(format!("the simulated {} has no function {call}{hint}", library.file)));
        }
        let effect = match effect {
            "absent" if at == Occurrence::Nth(1) || at == Occurrence::From(1) => Effect::Absent,
            "absent" => return Err(wrong("a function is absent from the start: write 1 or *".into())),
            "lost" if library.is_runtime => Effect::Lost,
            "lost" => return Err(wrong(format!("a device is lost in a call of {}", runtime_of(library)))),
            "corrupt" if library.is_runtime && call.contains("Load") => Effect::Corrupt,
            "corrupt" => return Err(wrong("only a call that loads a module can find it corrupt".into())),
            // Only the vendor's own library knows the names of its runtime's codes.
            _ if is_other => continue,
            name => {
                let named = if library.is_runtime { code(name) } else { library.status(name) };
                match named.or_else(|| name.parse().ok()) {
                    Some(0) => return Err(wrong("0 is success, which is no fault".into())),
                    Some(number) => Effect::Code(number),
                    None => {
                        return Err(wrong(format!(
                            "{name:?} is neither a code of {}, nor a number, lost, corrupt or absent",
                            library.file
                        )));
                    }
                }
            }
        };
        if !is_other {
            faults.push(Fault { call: call.to_owned(), at, effect });
        }
    }
    Ok(faults)
}

fn library_of(call: &str, vendor: Vendor) -> Result<&'static Library, String> {
    if call.starts_with("nvrtc") {
        return Err("NVRTC is NVIDIA's own library, whose calls the simulator does not see".into());
    }
    Library::of(call, vendor).ok_or_else(|| {
        let prefixes: Vec<&str> = LIBRARIES.iter().map(|library| library.prefix).collect();
        format!("{call:?} is no function of a simulated library; their names begin with {}", prefixes.join(", "))
    })
}

fn runtime_of(library: &Library) -> &'static str {
    let of_vendor = LIBRARIES.iter().find(|other| other.is_runtime && other.vendor == library.vendor);
    of_vendor.map_or("the runtime", |runtime| runtime.file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nvidia(text: &str) -> Result<Vec<Fault>, String> {
        let code = |name: &str| (name == "CUDA_ERROR_OUT_OF_MEMORY").then_some(2);
        parse(text, Vendor::Nvidia, code, |_, function| !["cuMemAlloc", "cuNothing"].contains(&function))
    }

    fn fault(call: &str, at: Occurrence, effect: Effect) -> Fault {
        Fault { call: call.into(), at, effect }
    }

    #[test]
    fn faults_are_read() {
        assert_eq!(nvidia(""), Ok(Vec::new()));
        let text = "cuMemAlloc_v2:3:CUDA_ERROR_OUT_OF_MEMORY, cuInit:*:100,cublasCreate_v2:2+:CUBLAS_STATUS_ALLOC_FAILED,\
                    cuLaunchKernel:1:lost,cuModuleLoadDataEx:1:corrupt,cudnnGetVersion:*:absent,";
        let expected = vec![
            fault("cuMemAlloc_v2", Occurrence::Nth(3), Effect::Code(2)),
            fault("cuInit", Occurrence::From(1), Effect::Code(100)),
            fault("cublasCreate_v2", Occurrence::From(2), Effect::Code(3)),
            fault("cuLaunchKernel", Occurrence::Nth(1), Effect::Lost),
            fault("cuModuleLoadDataEx", Occurrence::Nth(1), Effect::Corrupt),
            fault("cudnnGetVersion", Occurrence::From(1), Effect::Absent),
        ];
        assert_eq!(nvidia(text), Ok(expected));
    }

    #[test]
    fn the_faults_of_the_other_vendor_are_left_to_its_library() {
        assert_eq!(nvidia("hipMalloc:1:hipErrorOutOfMemory,hipNothing:1:2,rocblas_create_handle:1:absent"), Ok(vec![]));
        assert!(nvidia("hipMalloc:0:2").is_err(), "the number is checked by both");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("cuInit", "CALL:N:CODE"),
            ("cuInit:1:2:3", "CALL:N:CODE"),
            ("malloc:1:2", "cublas, cudnn"),
            ("nvrtcCompileProgram:1:2", "NVIDIA's own"),
            ("cuInit:0:2", "\"0\" is not a number of a call"),
            ("cuInit:-1:2", "is not a number of a call"),
            ("cuInit:+:2", "is not a number of a call"),
            ("cuNothing:1:2", "no function cuNothing"),
            ("cuMemAlloc:1:2", "did you mean cuMemAlloc_v2?"),
            ("cuInit:1:0", "success"),
            ("cuInit:1:CUDA_ERROR_NONSENSE", "\"CUDA_ERROR_NONSENSE\" is neither"),
            ("cublasCreate_v2:1:CUDA_ERROR_OUT_OF_MEMORY", "neither a code of libcublas.so"),
            ("cublasCreate_v2:1:lost", "in a call of libcuda.so"),
            ("cuMemAlloc_v2:1:corrupt", "loads a module"),
            ("cuInit:2:absent", "write 1 or *"),
            ("cudnnGetVersion:1:1", "returns no status"),
        ] {
            let error = nvidia(text).unwrap_err();
            assert!(error.contains(words) && error.starts_with(&format!("{text:?}: ")), "{error}");
        }
    }

    #[test]
    fn the_calls_that_fail_are_counted_from_one() {
        let failing = |text| {
            let at = Occurrence::parse(text).unwrap();
            (1..=4).filter(|&n| at.is(n)).collect::<Vec<_>>()
        };
        assert_eq!((failing("2"), failing("3+"), failing("*")), (vec![2], vec![3, 4], vec![1, 2, 3, 4]));
    }
}

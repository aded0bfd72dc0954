//! Fuzz targets for what reads text and bytes from elsewhere: code for GPUs, packed kernels, and
//! the files that runs of the suite exchange.
//!
//! A target accepts any input: what is malformed is an error of the parser, never a panic, and
//! takes neither more than [`SECONDS`] nor more than [`BYTES`]. `cargo xtask fuzz` searches for
//! inputs that break this; `cargo test -p isobit-fuzz` runs those of `corpus/` and `regressions/`.

mod targets;

/// The longest time that an input may take.
pub const SECONDS: u64 = 2;
/// The most memory that an input may take.
pub const BYTES: usize = 1 << 30;

/// Something that reads input from elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its folders in `corpus/` and `regressions/`.
    pub name: &'static str,
    /// Reads an input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "ptx", run: targets::simulators::ptx },
    Target { name: "code_object", run: targets::simulators::code_object },
    Target { name: "metadata", run: targets::simulators::metadata },
    Target { name: "user_binary", run: targets::kernels::user_binary },
    Target { name: "archive", run: targets::kernels::archive },
    Target { name: "regressions", run: targets::reports::regressions },
    Target { name: "digests", run: targets::reports::digests },
    Target { name: "report", run: targets::reports::report },
    Target { name: "coverage", run: targets::reports::coverage },
];

/// Returns the target with a name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

//! The architectures to build for, and the compiler flags.

use super::manifest::Module;

use std::path::Path;

/// Flags for every target. IEEE division and square root, and denormals, are clang's defaults for
/// both targets, except where a flag is listed.
pub const FLAGS: &[&str] = &[
    "-O3",
    "-std=c++20",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-function",
    // An unrolling hint that a target does not follow is not an error in the source.
    "-Wno-pass-failed",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    Nvptx,
    Amdgcn,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub vendor: Vendor,
    pub arch: String,
}

/// The properties of a vendor: the feature and the variable that select it, and the architectures.
struct Choice {
    vendor: Vendor,
    feature: &'static str,
    variable: &'static str,
    /// The architectures that a checkout compiles by default.
    development: &'static [&'static str],
    /// The architectures of the data crates.
    packaged: &'static [&'static str],
}

const CHOICES: [Choice; 2] = [
    Choice {
        vendor: Vendor::Nvptx,
        feature: "CARGO_FEATURE_CUDA",
        variable: "ISOBIT_CUDA_ARCHS",
        development: &["sm_80"],
        packaged: &["sm_75", "sm_80", "sm_90"],
    },
    Choice {
        vendor: Vendor::Amdgcn,
        feature: "CARGO_FEATURE_ROCM",
        variable: "ISOBIT_ROCM_ARCHS",
        development: &["gfx90a", "gfx1100"],
        packaged: &["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"],
    },
];

/// Returns the targets that features and environment select.
pub fn chosen() -> Vec<Target> {
    let chosen = CHOICES.iter().filter(|choice| std::env::var_os(choice.feature).is_some());
    chosen.flat_map(Choice::targets).collect()
}

impl Choice {
    fn targets(&self) -> Vec<Target> {
        let archs: Vec<String> = match std::env::var(self.variable) {
            Ok(named) => named.split(',').map(str::trim).filter(|a| !a.is_empty()).map(String::from).collect(),
            Err(_) if is_package() => {
                let has_code = |arch: &&&str| super::prebuilt::file(arch).is_some();
                self.packaged.iter().filter(has_code).map(|a| a.to_string()).collect()
            }
            Err(_) => self.development.iter().map(|a| a.to_string()).collect(),
        };
        archs.into_iter().map(|arch| Target { vendor: self.vendor, arch }).collect()
    }
}

/// Whether this is a released package: cargo stores the original manifest next to the published
/// one.
fn is_package() -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml.orig").exists()
}

impl Target {
    /// Returns the target for which a module is compiled.
    pub fn of(&self, module: &Module) -> Self {
        let variant = module.variant.filter(|[arch, _]| *arch == self.arch);
        Self { arch: variant.map_or_else(|| self.arch.clone(), |[_, variant]| variant.into()), ..self.clone() }
    }

    /// Returns every flag that determines the compiler's output.
    pub fn flags(&self) -> Vec<String> {
        let own: &[&str] = match self.vendor {
            Vendor::Nvptx => &["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S"],
            Vendor::Amdgcn => &[
                "-x",
                "hip",
                "--offload-device-only",
                "--no-gpu-bundle-output",
                "-nogpuinc",
                "-nogpulib",
                "-fuse-ld=lld",
                "-fhip-fp32-correctly-rounded-divide-sqrt",
                // Without this flag an object contains an id derived from the path and the options,
                // and the same code in another folder has different bytes.
                "-fuse-cuid=none",
            ],
        };
        let mut flags: Vec<String> = FLAGS.iter().chain(own).map(|s| s.to_string()).collect();
        // bf16 conversions are PTX 7.0 instructions of sm_80; clang without a CUDA toolkit assumes
        // an older PTX.
        let variant = self.arch.ends_with('a');
        let sm: Option<u32> = self.arch.strip_prefix("sm_").and_then(|n| n.trim_end_matches('a').parse().ok());
        if sm.is_some_and(|sm| sm >= 80) {
            // sm_90a is in PTX 8.0.
            let version = if variant { "80" } else { "78" };
            flags.extend([format!("--cuda-feature=+ptx{version}"), "-DISOBIT_PTX70".into()]);
        }
        flags.push(match self.vendor {
            Vendor::Nvptx => format!("--cuda-gpu-arch={}", self.arch),
            Vendor::Amdgcn => format!("--offload-arch={}", self.arch),
        });
        flags
    }
}

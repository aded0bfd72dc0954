//! The list of libraries with the names under which programs open them, and their installation.

use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// A library that replaces a vendor's.
pub struct Library {
    /// The package that builds it.
    pub package: &'static str,
    /// Its file name, without a version.
    pub file: &'static str,
    /// The names of other libraries of the vendor that it contains.
    pub also: &'static [&'static str],
    /// The versions of its soname in the releases that it replaces.
    pub versions: &'static [&'static str],
}

/// ROCm 5, 6 and 7.
pub const ROCM: &[Library] = &[
    Library { package: "isobit-simgpu-hip", file: "libamdhip64.so", also: &[], versions: &["5", "6", "7"] },
    Library { package: "isobit-simgpu-rocblas", file: "librocblas.so", also: &[], versions: &["3", "4", "5"] },
    Library { package: "isobit-simgpu-hipblaslt", file: "libhipblaslt.so", also: &[], versions: &["0", "1"] },
    Library { package: "isobit-simgpu-miopen", file: "libMIOpen.so", also: &[], versions: &["1"] },
    Library { package: "isobit-simgpu-rocrand", file: "librocrand.so", also: &[], versions: &["1"] },
    Library { package: "isobit-simgpu-rccl", file: "librccl.so", also: &[], versions: &["1"] },
    Library { package: "isobit-simgpu-hiprtc", file: "libhiprtc.so", also: &[], versions: &["5", "6", "7"] },
];

/// CUDA 12 and 13; the driver has the same soname in both.
pub const CUDA: &[Library] = &[
    Library { package: "isobit-simgpu-cuda", file: "libcuda.so", also: &[], versions: &["1"] },
    Library {
        package: "isobit-simgpu-cublas",
        file: "libcublas.so",
        also: &["libcublasLt.so"],
        versions: &["12", "13"],
    },
    Library { package: "isobit-simgpu-cudnn", file: "libcudnn.so", also: &[], versions: &["9"] },
    Library { package: "isobit-simgpu-curand", file: "libcurand.so", also: &[], versions: &["10"] },
    Library { package: "isobit-simgpu-nccl", file: "libnccl.so", also: &[], versions: &["2"] },
];

/// Installs the built libraries in a folder: each library once, with a link for each version of its
/// soname and for the other libraries that it contains. All names refer to the same file, so a
/// process loads only one instance.
pub fn lay_out(libraries: &[Library], built: &HashMap<String, PathBuf>, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for library in libraries {
        let from =
            built.get(library.package).with_context(|| format!("{} builds no shared library", library.package))?;
        if from.file_name() == Some(library.file.as_ref()) {
            bail!("{} builds {}, which drivers would find in cargo's target folder", library.package, library.file);
        }
        let to = folder.join(library.file);
        copy(from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        let suffixes = [String::new()].into_iter().chain(library.versions.iter().map(|version| format!(".{version}")));
        let suffixes: Vec<_> = suffixes.collect();
        let files = [library.file].into_iter().chain(library.also.iter().copied());
        for name in files.flat_map(|file| suffixes.iter().map(move |suffix| format!("{file}{suffix}"))).skip(1) {
            let name = folder.join(name);
            link(Path::new(library.file), &name).with_context(|| format!("cannot link {}", name.display()))?;
        }
    }
    Ok(())
}

/// Copies a file unless an identical one exists. The file is replaced, so a process that has loaded
/// the old one keeps it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let content = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let part = to.with_extension("part");
    std::fs::write(&part, content)?;
    std::fs::rename(&part, to)
}

fn link(target: &Path, name: &Path) -> io::Result<()> {
    match std::fs::read_link(name) {
        Ok(there) if there == target => return Ok(()),
        Ok(_) => std::fs::remove_file(name)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    std::os::unix::fs::symlink(target, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    const ONE: &[Library] = &[Library { package: "p", file: "libx.so", also: &["liby.so"], versions: &["1", "2"] }];

    #[test]
    fn every_name_is_one_file_which_stays_while_nothing_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (made, folder) = (dir.path().join("made.so"), dir.path().join("lib"));
        let built = HashMap::from([("p".to_string(), made.clone())]);
        let inode = |name: &str| std::fs::metadata(folder.join(name)).unwrap().ino();
        std::fs::write(&made, "first").unwrap();
        lay_out(ONE, &built, &folder).unwrap();
        let first = inode("libx.so");
        assert_eq!(["libx.so.1", "libx.so.2", "liby.so", "liby.so.1", "liby.so.2"].map(inode), [first; 5]);
        lay_out(ONE, &built, &folder).unwrap();
        assert_eq!(inode("libx.so.2"), first);
        std::fs::write(&made, "second").unwrap();
        lay_out(ONE, &built, &folder).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("libx.so.1")).unwrap(), "second");
    }

    #[test]
    fn a_library_of_the_vendors_name_is_refused_where_cargo_leaves_it() {
        let built = HashMap::from([("p".to_string(), PathBuf::from("/target/debug/libx.so"))]);
        let e = lay_out(ONE, &built, tempfile::tempdir().unwrap().path()).unwrap_err();
        assert!(e.to_string().contains("p builds libx.so"), "{e}");
    }

    #[test]
    fn a_package_that_made_nothing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let e = lay_out(ONE, &HashMap::new(), dir.path()).unwrap_err();
        assert!(e.to_string().contains("p builds no shared library"), "{e}");
    }
}

//! Writes every compiled module to a folder, as `<module>.<arch>.ptx` and `<module>.<arch>.co`, for
//! disassemblers and `cargo xtask kernels --resources`.

use isobit_kernels::{IMAGES, Target};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder: PathBuf = std::env::args_os().nth(1).expect("the folder to write to is the first argument").into();
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    for image in IMAGES {
        for (target, ending) in [(Target::Nvptx, "ptx"), (Target::Amdgcn, "co")] {
            for arch in image.archs(target) {
                let code = image.code_for(target, &arch).expect("what is packed for an architecture fits it");
                let code = code.strip_suffix(&[0]).filter(|_| target == Target::Nvptx).unwrap_or(&code);
                std::fs::write(folder.join(format!("{}.{arch}.{ending}", image.name)), code)?;
            }
        }
    }
    Ok(())
}

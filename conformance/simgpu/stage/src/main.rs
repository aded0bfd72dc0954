//! Builds and lays out every simulated GPU, and prints the folder, for tasks that are no Rust program of this workspace.

use std::process::ExitCode;

fn main() -> ExitCode {
    let staged = isobit_simgpu_stage::cuda().and_then(|_| isobit_simgpu_stage::rocm());
    match staged.and_then(|_| isobit_simgpu_stage::folder()) {
        Ok(folder) => {
            println!("{}", folder.display());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

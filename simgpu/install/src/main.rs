//! Builds and lays out every simulated GPU, and prints the folder, for tasks that are no Rust
//! program of this workspace.

use std::process::ExitCode;

fn main() -> ExitCode {
    match isobit_simgpu_install::all() {
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

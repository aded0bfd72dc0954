//! Builds and installs every simulated GPU and prints the folder, for users that are not Rust
//! programs of this workspace.

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

//! LLVM's tools, to which the decoder is held.

use std::process::{Command, Output};

/// Runs a tool of LLVM 19, by whose text the tables were made, or of the next version that is installed.
pub fn run(tool: &str, args: &[&str]) -> Output {
    let candidates = (19..=30).map(|version| format!("{tool}-{version}")).chain([tool.to_owned()]);
    for name in candidates {
        match Command::new(&name).args(args).output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => panic!("{name} cannot be run: {error}"),
            Ok(output) => return output,
        }
    }
    panic!("no {tool}: it is in the Debian package llvm-19");
}

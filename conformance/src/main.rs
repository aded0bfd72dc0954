//! The command line of the conformance suite, which `cargo xtask conformance` starts.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}

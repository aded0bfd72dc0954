//! The conformance suite's command line: `cargo xtask conformance` starts it.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}

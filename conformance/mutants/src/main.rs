//! The program that `cargo xtask mutants` starts.

fn main() -> std::process::ExitCode {
    isobit_mutants::cli::main()
}

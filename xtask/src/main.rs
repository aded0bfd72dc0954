//! `cargo xtask`: what a developer runs. It depends on no crate of the workspace: it installs what is missing, builds what is needed, and
//! starts the built programs.

mod bench;
mod bindings;
mod conformance;
mod doctor;
mod kernels;
mod model;
mod resources;
mod setup;
mod shell;
mod test;

use clap::{Parser, Subcommand};

/// Isobit's tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// The parity report: every device against the CPU reference, and against each other.
    ///
    /// All arguments go to the report's own program; `cargo xtask conformance --help` lists them.
    #[command(disable_help_flag = true)]
    Conformance {
        /// Arguments of the program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Formatting, lints, documentation, unit and integration tests, and a short conformance run.
    Test {
        /// Runs only the tests whose name contains this, and nothing else.
        #[arg(long)]
        filter: Option<String>,
    },
    /// Compiles the kernel tree.
    Kernels {
        /// Every architecture that a package carries, not only those of development.
        #[arg(long)]
        all: bool,
        /// Prints registers, spills and shared memory of every kernel for every target.
        #[arg(long)]
        resources: bool,
    },
    /// Measures every family against the floor: bytes over copy bandwidth, flops over the matrix rate.
    ///
    /// All arguments go to the benchmark's own program; `cargo xtask bench --help` lists them.
    #[command(disable_help_flag = true)]
    Bench {
        /// Arguments of the program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Compares the declarations of the -sys crates of ROCm with official headers.
    Bindings {
        /// Compares, and fails where anything differs.
        #[arg(long, required = true)]
        check: bool,
        /// A folder of headers, instead of those of ROCM_PATH, of /opt/rocm, or of Debian's packages.
        #[arg(long)]
        include: Vec<std::path::PathBuf>,
    },
    /// Fetches all-MiniLM-L6-v2, which the example `embed` runs, and prints its folder.
    Model,
    /// What was found on this machine, and what to do about what is missing.
    Doctor,
}

fn main() -> std::process::ExitCode {
    let result = match Cli::parse().task {
        Task::Conformance { args } => conformance::run(&args),
        Task::Test { filter } => test::run(filter.as_deref()),
        Task::Kernels { all, resources } => kernels::run(all, resources),
        Task::Bench { args } => bench::run(&args),
        Task::Bindings { check: _, include } => bindings::run(&include),
        Task::Model => model::run(),
        Task::Doctor => doctor::run(),
    };
    match result {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e:#}");
            // As the report's program: 2 for what could not run at all.
            2.into()
        }
    }
}

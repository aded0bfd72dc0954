//! `isobit-sim`: runs any program on simulated GPUs.
//!
//! The simulators need no help of the program, but two things cannot be done from inside it: to set
//! the loader's variables before it starts, and to choose its exit code without ending it early and
//! losing output. This program does both. It preloads nothing and changes nothing else.

mod cards;
mod cli;
mod libraries;
mod process;
mod summary;

use std::process::ExitCode;

/// The exit code if this program itself fails, as of `env`, `nice` and `timeout`.
const FAILED: u8 = 125;

fn main() -> ExitCode {
    let outcome = match cli::parse() {
        cli::Task::Gpus => {
            print!("{}", cards::table());
            return ExitCode::SUCCESS;
        }
        cli::Task::Run(run) => process::run(&run),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("isobit-sim: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

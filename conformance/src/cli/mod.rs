//! The command line, over the devices of the facade crate.
//!
//! The CPU runs in this process. Every other device runs in its own worker process (this binary,
//! started again), so that a crash or a hang costs one case and not the report.

mod against;
mod args;
mod build;
mod devices;
mod digest_diff;
mod execute;
mod fail_fast;
mod groups;
mod huge;
mod launches;
mod matrix;
mod merge_runs;
mod pool;
mod process;
mod products;
mod progress;
mod run;
mod save;
mod select;
mod simulated;
mod simulator;
mod stress;
mod supervise;
mod tally;
mod worker;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

/// Everything passed.
const PASSED: u8 = 0;
/// Something failed.
const FAILED: u8 = 1;
/// It could not run: bad arguments, an absent device, a filter that selects nothing.
const COULD_NOT_RUN: u8 = 2;

pub fn main() -> ExitCode {
    let args = Args::parse();
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !isobit_conformance::run::in_call() {
            print(panic);
        }
    }));
    let outcome = match &args.command {
        Some(Command::Worker(worker)) => worker::main(worker).map(|()| true),
        Some(Command::Stress(stress)) => stress::main(stress),
        Some(Command::Products(command)) => products::main(command),
        None if args.matrix => matrix::main(&args),
        None if args.against.len() == 2 => against::folders(&args, &args.against[0], &args.against[1]),
        None => run::main(&args),
    };
    match outcome {
        Ok(true) => PASSED.into(),
        Ok(false) => FAILED.into(),
        Err(e) => {
            eprintln!("error: {e:#}");
            COULD_NOT_RUN.into()
        }
    }
}

//! `stress`: many threads at one or two devices, for longer than a group is; also what runs under a
//! checker of memory such as compute-sanitizer.

use super::args::StressArgs;
use super::devices;
use super::simulated::Simulated;
use super::simulator::Simulator;
use anyhow::{Context, Result, bail};
use isobit_conformance::run::Watch;
use isobit_conformance::runtime_tests::{Stress, stress};
use std::process::Command;

/// Runs and says what came of it; true where all is right.
///
/// # Errors
/// A device that is not here; two of different drivers, one of them simulated.
pub fn main(args: &StressArgs) -> Result<bool> {
    let ids: Vec<&String> = [&args.device].into_iter().chain(&args.second).collect();
    if let (Some(simulated), false) = (Simulated::of(&args.device), args.inside) {
        if ids.iter().any(|id| **id != args.device) {
            bail!("a process has one simulated GPU: {} and {} cannot be beside each other", ids[0], ids[1]);
        }
        simulated.ready()?;
        return again(simulated);
    }
    let opened = ids.iter().map(|id| devices::open(id)).collect::<Result<Vec<_>>>()?;
    let plan = Stress { threads: args.threads.into(), operations: args.ops, seed: args.seed };
    let outcome = stress(&opened, &plan);
    let seen = Simulator::loaded().map(|s| s.look()).transpose().map_err(anyhow::Error::msg)?.unwrap_or_default();
    for sighting in &seen {
        println!("{}: {}", sighting.finding, sighting.message);
    }
    let names: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    let on = names.join(" and ");
    match outcome {
        Ok(done) => {
            let seconds = done.time.as_secs_f64();
            let rate = done.operations as f64 / seconds;
            println!(
                "{on}: {} threads did {} operations in {seconds:.2} s ({rate:.0} a second): results are those of the CPU, all memory was given back",
                args.threads, done.operations
            );
            Ok(seen.is_empty())
        }
        Err(e) => {
            println!("{on}: seed {}, {e}", args.seed);
            Ok(false)
        }
    }
}

/// This program again, where it finds the simulated device.
fn again(simulated: Simulated) -> Result<bool> {
    let program = std::env::current_exe().context("the path of this program")?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).arg("--inside").envs(simulated.environment(1, false)?);
    Ok(command.status().context("starting this program again")?.success())
}

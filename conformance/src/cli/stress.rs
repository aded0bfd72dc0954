//! `stress`: many threads on one or two devices, for longer than a group runs; also useful under a
//! memory checker such as compute-sanitizer.

use super::args::StressArgs;
use super::devices;
use super::simulated::Simulated;
use super::simulator::Simulator;
use anyhow::{Result, bail};
use isobit_conformance::run::Watch;
use isobit_conformance::runtime_tests::{Stress, stress};

/// Runs the stress test and prints the result. Returns true if everything passed.
///
/// # Errors
/// Fails if a device is absent, or if there are two different devices and the first is simulated.
pub fn main(args: &StressArgs) -> Result<bool> {
    let ids: Vec<&String> = [&args.device].into_iter().chain(&args.second).collect();
    if let (Some(simulated), false) = (Simulated::of(&args.device), args.inside) {
        if ids.iter().any(|id| **id != args.device) {
            bail!("a process can have only one simulated GPU: {} and {} cannot be used together", ids[0], ids[1]);
        }
        simulated.ready()?;
        return simulated.again(1);
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
                "{on}: {} threads did {} operations in {seconds:.2} s ({rate:.0} per second): all results agree with the CPU, all memory was returned",
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

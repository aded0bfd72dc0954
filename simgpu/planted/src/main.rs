//! `cargo run -p isobit-simgpu-planted`: measures, prints the table, and keeps the programs whose
//! faults were missed.

use anyhow::{Context, Result};
use clap::{Arg, Command, value_parser};
use isobit_simgpu_planted::measure::{Options, measure};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("isobit-planted: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode> {
    let number = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("N").default_value(default).value_parser(value_parser!(u64))
    };
    let matches = Command::new("isobit-planted")
        .about("Measures what the checks of the simulated GPUs find: random kernels with planted faults")
        .after_help("Exit status: 0; 1 if a finding was untrue, a result wrong, or a fault missed for an unknown reason; 2 if it could not run.")
        .arg(number("programs", "10000").help("How many programs get a planted change"))
        .arg(number("launches", "6").help("How many launches of each, with other arguments"))
        .arg(number("seed", "0").help("The seed of everything that is drawn"))
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("DIR")
                .default_value("target/planted")
                .value_parser(value_parser!(PathBuf))
                .help("The folder of the table and of the programs whose faults were missed"),
        )
        .get_matches();
    let number = |name: &str| *matches.get_one::<u64>(name).expect("it has a default");
    let launches = usize::try_from(number("launches").max(1)).context("too many launches")?;
    let options = Options { programs: number("programs"), launches, seed: number("seed") };
    let start = Instant::now();
    let report = measure(&options)?;
    let table = report.to_string();
    print!("{table}");
    println!("{} programs in {:.0} s", options.programs, start.elapsed().as_secs_f64());
    let out = matches.get_one::<PathBuf>("out").expect("it has a default");
    let write = |name: &str, text: &str| {
        let path = out.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    write("planted.txt", &table)?;
    let kept = report.kept.iter().map(|(why, programs)| format!("// {why}\n{}\n", programs.join("\n")));
    write("missed.cu", &kept.collect::<String>())?;
    println!("{}", out.display());
    Ok(ExitCode::from(u8::from(!report.is_as_known())))
}

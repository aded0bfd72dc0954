//! The command line, with clap's builder.

use crate::cards::{self, Selected};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use isobit_simgpu_core::finding::report::Format;
use isobit_simgpu_core::settings::Response;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the user asks for.
pub enum Task {
    /// The list of cards.
    Gpus,
    /// The run of a program.
    Run(Run),
}

/// A run of a program.
pub struct Run {
    /// The cards that it gets.
    pub cards: Vec<Selected>,
    /// What happens at a finding; `None` if the user's environment decides.
    pub findings: Option<String>,
    /// The faults that are injected, as `ISOBIT_SIM_FAULT` has them; `None` if the user's
    /// environment decides.
    pub faults: Option<String>,
    /// The files that the findings go to.
    pub reports: Vec<PathBuf>,
    /// The file of suppressions.
    pub suppressions: Option<PathBuf>,
    /// Whether suppressions that covered nothing are listed.
    pub unused: bool,
    /// The exit code if there are findings and the program's own code is 0.
    pub code: u8,
    /// The program and its arguments.
    pub program: Vec<OsString>,
}

/// The exit code for findings. It differs from the codes that programs, shells and test runners
/// use.
const CODE: &str = "86";

fn command() -> Command {
    let exit_codes = format!(
        "Exit code: the program's own if it is not 0, 128+N if signal N ended it; else {CODE} (or --exit-code) if \
         there are findings; 125 if isobit-sim fails, 126 if the program cannot be started, 127 if there is none."
    );
    let file = |path: &str| match Format::of(Path::new(path)) {
        Some(_) => Ok(PathBuf::from(path)),
        None => Err("the name must end in .txt, .json or .sarif, which selects the format"),
    };
    let run = Command::new("run")
        .about("Runs a program on simulated GPUs; its findings become the exit code")
        .after_help(exit_codes)
        .arg(
            Arg::new("gpu")
                .long("gpu")
                .value_name("NAME")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("The simulated GPUs, such as sm_90,gfx942; by default one of each vendor"),
        )
        .arg(
            Arg::new("count")
                .long("count")
                .value_name("N")
                .value_parser(value_parser!(u8).range(1..=64))
                .help("The number of GPUs of each name"),
        )
        .arg(
            Arg::new("findings")
                .long("findings")
                .value_name("MODE")
                .value_parser(Response::ALL.map(Response::name))
                .help("At a finding: fail as a card does, only record it, or abort the program [default: card]"),
        )
        .arg(
            Arg::new("fault")
                .long("fault")
                .value_name("CALL:N:CODE")
                .action(ArgAction::Append)
                .help("Makes the N-th call of a function fail, such as cuMemAlloc_v2:3:CUDA_ERROR_OUT_OF_MEMORY"),
        )
        .arg(
            Arg::new("report")
                .long("report")
                .value_name("FILE")
                .value_parser(file)
                .action(ArgAction::Append)
                .help("Writes the findings to FILE: .txt, .json or .sarif"),
        )
        .arg(
            Arg::new("suppressions")
                .long("suppressions")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Findings to leave out, one KIND:KERNEL a line"),
        )
        .arg(
            Arg::new("unused")
                .long("unused-suppressions")
                .action(ArgAction::SetTrue)
                .help("Lists suppressions that covered nothing"),
        )
        .arg(
            Arg::new("code")
                .long("exit-code")
                .value_name("CODE")
                .default_value(CODE)
                .value_parser(value_parser!(u8))
                .help("The exit code if there are findings"),
        )
        .arg(
            Arg::new("program")
                .value_name("PROGRAM")
                .num_args(1..)
                .required(true)
                .trailing_var_arg(true)
                .value_parser(value_parser!(OsString))
                .help("The program and its arguments"),
        );
    Command::new("isobit-sim")
        .about("Runs programs on simulated GPUs")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(run)
        .subcommand(Command::new("gpus").about("Lists the simulated GPUs"))
}

/// Parses the arguments of this process. Ends it if they are wrong, or ask for help.
pub fn parse() -> Task {
    let mut command = command();
    let matches = command.get_matches_mut();
    match matches.subcommand() {
        Some(("run", args)) => match run(args) {
            Ok(run) => Task::Run(run),
            Err(why) => command.error(clap::error::ErrorKind::InvalidValue, why).exit(),
        },
        _ => Task::Gpus,
    }
}

fn run(args: &ArgMatches) -> Result<Run, String> {
    let all = |name: &str| args.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>();
    let count = args.get_one::<u8>("count").map(|&count| count.into());
    Ok(Run {
        cards: cards::select(&all("gpu"), count)?,
        findings: args.get_one::<String>("findings").cloned(),
        faults: Some(all("fault").join(",")).filter(|faults| !faults.is_empty()),
        reports: args.get_many::<PathBuf>("report").into_iter().flatten().cloned().collect(),
        suppressions: args.get_one::<PathBuf>("suppressions").cloned(),
        unused: args.get_flag("unused"),
        code: args.get_one::<u8>("code").copied().unwrap_or_default(),
        program: args.get_many::<OsString>("program").into_iter().flatten().cloned().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
        let words = ["isobit-sim", "run", "--gpu", "sm_90,gfx942", "--report", "a.sarif", "--", "p", "--gpu", "x"];
        let matches = command().try_get_matches_from(words).unwrap();
        let run = run(matches.subcommand().unwrap().1).unwrap();
        assert_eq!((run.cards.len(), run.code, run.program), (2, 86, ["p", "--gpu", "x"].map(OsString::from).to_vec()));
        assert_eq!(run.faults, None);
        let words = ["isobit-sim", "run", "--fault", "cuInit:1:100", "--fault", "hipMalloc:*:2", "p"];
        let matches = command().try_get_matches_from(words).unwrap();
        let faults = super::run(matches.subcommand().unwrap().1).unwrap().faults;
        assert_eq!(faults.as_deref(), Some("cuInit:1:100,hipMalloc:*:2"));
        for bad in
            [&["--report", "a.xml", "--", "p"][..], &["--findings", "none", "--", "p"], &["--count", "0", "p"], &[]]
        {
            assert!(command().try_get_matches_from(["isobit-sim", "run"].iter().chain(bad)).is_err(), "{bad:?}");
        }
    }
}

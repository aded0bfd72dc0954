//! `cargo xtask`: the tasks of a developer. It does not depend on any crate of the workspace: it
//! installs what is missing, builds what is needed, and starts the built programs.

mod bare;
mod bench;
mod bindings;
mod candle;
mod cli;
mod conformance;
mod coverage;
mod doctor;
mod failure;
mod foreign;
mod fuzz;
mod hardware;
mod kernels;
mod marked;
mod model;
mod mutants;
mod occupancy;
mod onnx;
mod package;
mod progress;
mod resources;
mod sanitize;
mod setup;
mod shell;
mod steps;
mod submit;
mod test;

use anyhow::Result;
use clap::ArgMatches;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    let (task, args) = matches.subcommand().expect("clap asks for one");
    // After a task that passes its arguments to another program, the flag is among those arguments.
    let handed_over = args.try_get_many::<String>("args").ok().flatten().into_iter().flatten();
    setup::answer_yes(matches.get_flag("yes") || handed_over.into_iter().any(|arg| arg == "--yes"));
    match start(task, args) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e:#}");
            // As in the conformance program, 2 means that the task could not run at all.
            2.into()
        }
    }
}

fn start(task: &str, args: &ArgMatches) -> Result<ExitCode> {
    let text = |name: &str| args.get_one::<String>(name).cloned();
    let texts = |name: &str| args.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>();
    match task {
        "conformance" => conformance::run(&texts("args")),
        "coverage" => coverage::run(&coverage::Options {
            out: args.get_one::<PathBuf>("out").cloned(),
            devices: texts("devices"),
            ops: texts("ops"),
            cases: text("cases"),
        }),
        "fuzz" => {
            fuzz::run(&fuzz::Options { targets: texts("target"), seconds: args.get_one::<u32>("seconds").copied() })
        }
        "test" => test::run(&test::Options {
            full: args.get_flag("full"),
            filter: text("filter"),
            packages: texts("package"),
        }),
        "kernels" => kernels::run(&kernels::Options {
            all: args.get_flag("all"),
            resources: args.get_flag("resources"),
            occupancy: args.get_flag("occupancy"),
            table: args.get_flag("table"),
        }),
        "bench" => bench::run(&texts("args")),
        "bindings" => {
            bindings::run(&args.get_many::<PathBuf>("include").into_iter().flatten().cloned().collect::<Vec<_>>())
        }
        "foreign" => foreign::run(&texts("program")),
        "candle" => candle::run(&candle::Options {
            out: args.get_one::<PathBuf>("out").cloned(),
            test: args.get_flag("test"),
            devices: texts("device"),
            filter: text("filter"),
            newest: args.get_flag("check-newest"),
        }),
        "model" => model::run(),
        "mutants" => mutants::run(&texts("args")),
        "onnx" => onnx::run(&onnx::Options {
            devices: texts("devices"),
            filter: text("filter"),
            verbose: args.get_flag("verbose"),
        }),
        "package" => package::run(package::Options {
            allow_dirty: args.get_flag("allow-dirty"),
            keep_kernels: args.get_flag("keep-kernels"),
            prove: args.get_flag("prove"),
        }),
        "sanitize" => sanitize::run(&texts("checker")),
        "hardware" => hardware::run(args.get_flag("check"), args.get_one::<PathBuf>("add").map(PathBuf::as_path)),
        "doctor" => doctor::run(),
        "bare" => bare::run(&bare::Options {
            only: texts("only"),
            command: texts("command"),
            with: texts("with"),
            root: args.get_one::<PathBuf>("root").cloned(),
            keep: args.get_flag("keep"),
            user: args.get_flag("user"),
            no_network: args.get_flag("no-network"),
        }),
        task => unreachable!("clap does not define the task {task}"),
    }
}

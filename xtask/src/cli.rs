//! The command line. It uses clap's builder, because derive macros would be compiled only for this
//! program, before anything else.

use crate::foreign::Program;
use crate::sanitize::Checker;
use clap::{Arg, ArgAction, Command, value_parser};
use std::path::PathBuf;

/// Defines every task with its arguments.
pub fn command() -> Command {
    Command::new("cargo xtask")
        .bin_name("cargo xtask")
        .about("Isobit's tasks")
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(flag("yes", "Installs missing Debian packages without asking, with `sudo -n` if needed").global(true))
        .subcommands([
            conformance(),
            coverage(),
            fuzz(),
            test(),
            bare(),
            kernels(),
            bench(),
            bindings(),
            candle(),
            foreign(),
            model(),
            mutants(),
            onnx(),
            sanitize(),
            package(),
            hardware(),
            doctor(),
        ])
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn list(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).value_delimiter(',').action(ArgAction::Append).help(help)
}

/// Defines a task that passes all arguments to a program with its own `--help`.
fn handed_over(name: &'static str, about: &'static str) -> Command {
    let help =
        format!("{about}.\n\nAll arguments are passed to a separate program; `cargo xtask {name} --help` lists them.");
    let args = Arg::new("args").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true).hide(true);
    Command::new(name).about(about).long_about(help).disable_help_flag(true).arg(args)
}

fn conformance() -> Command {
    handed_over("conformance", "Compares every device with the CPU reference and with each other")
}

fn coverage() -> Command {
    Command::new("coverage")
        .about("Runs the report and shows which lines and kernels of the tree no case executes")
        .long_about(
            "Compiles kernels with line information, runs the default report on a simulated NVIDIA GPU, and on AMD GPUs of both wave \
             widths the operations with lines of AMD's own. Shows which lines of the kernel sources no case executes and which \
             kernels none launches. Fails if one of them has no reason in conformance/coverage/reasons.tsv. A part of the report \
             (--devices, --ops, --cases) is shown and not judged.",
        )
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Folder for the report [default: target/coverage]"),
        )
        .arg(list("devices", "DEVICE,...", "Simulated GPUs [default: sim-cuda,sim-rocm:gfx90a,sim-rocm:gfx1100]"))
        .arg(list("ops", "OP,...", "Only these operations"))
        .arg(Arg::new("cases").long("cases").value_name("N").help("Cases per cell [default: those of the report]"))
}

fn fuzz() -> Command {
    Command::new("fuzz")
        .about("Searches with libFuzzer for inputs that break what reads files and code from elsewhere")
        .arg(list("target", "TARGET,...", "Only these targets; the folders in fuzz/corpus are named after them"))
        .arg(
            Arg::new("seconds")
                .long("seconds")
                .value_name("S")
                .value_parser(value_parser!(u32).range(1..))
                .help("Seconds for each target [default: 60]"),
        )
}

fn bench() -> Command {
    handed_over("bench", "Measures every family relative to its floor: bytes / copy bandwidth, flops / matrix rate")
}

fn mutants() -> Command {
    handed_over("mutants", "Plants small faults, one at a time, and counts which of them the suite and the tests find")
}

fn test() -> Command {
    Command::new("test")
        .about("Runs formatting checks, lints, unit and integration tests, and a short conformance run")
        .arg(flag(
            "full",
            "Also runs the long tests: everything through NVRTC, every architecture, shifted approximations, documentation",
        ))
        .arg(
            Arg::new("filter")
                .long("filter")
                .value_name("NAME")
                .help("Runs only the tests whose name contains this, and builds and sets up only what they need"),
        )
        .arg(
            list("package", "PACKAGE,...", "Runs only the tests of these packages, and sets up only what they need")
                .short('p'),
        )
}

fn bare() -> Command {
    Command::new("bare")
        .about("Runs both commands of the README in a minimal Debian 12 root with Rust, a C linker and a fresh clone")
        .long_about(
            "Makes a minimal Debian 12 root with Rust, a C linker and a fresh clone of HEAD, and runs `cargo xtask conformance` and \
             then `cargo xtask test` in it. Needs root. Uncommitted changes are not in the clone. A log goes to target/bare.",
        )
        .arg(list("only", "TASK,...", "Runs only these tasks of xtask, such as conformance or test").conflicts_with("command"))
        .arg(list("with", "PACKAGES", "Additional Debian packages, such as llvm,clang"))
        .arg(
            Arg::new("root")
                .long("root")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Folder for the root; must be empty or not exist yet [default: target/bare/root]"),
        )
        .arg(flag("keep", "Keeps the root afterwards"))
        .arg(flag("user", "Runs the commands as an ordinary user who cannot install packages"))
        .arg(flag("no-network", "Runs the commands without network"))
        .arg(Arg::new("command").num_args(0..).last(true).help("Runs this command instead, in the clone"))
}

fn kernels() -> Command {
    Command::new("kernels")
        .about("Compiles the kernel tree")
        .arg(flag("all", "Compiles for every published architecture, not only those of development builds"))
        .arg(flag("resources", "Prints registers, spills and shared memory of every kernel for every target"))
        .arg(
            flag("occupancy", "Judges AMD's kernels: occupancy, spills, bytes per load, instructions per element")
                .requires("resources"),
        )
        .arg(flag("table", "Writes the table of families to docs/performance.md").requires("occupancy"))
}

fn bindings() -> Command {
    Command::new("bindings")
        .about("Compares the declarations of the ROCm -sys crates with the official headers")
        .arg(flag("check", "Compares, and fails if anything differs").required(true))
        .arg(
            Arg::new("include")
                .long("include")
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
                .help("A folder of headers to use instead of those in ROCM_PATH, in /opt/rocm or in Debian's packages"),
        )
}

fn candle() -> Command {
    Command::new("candle")
        .about("Puts Isobit's backend into candle's crates, and prints the lines with which a program uses them")
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Folder for the changed crates, to keep [default: target/candle]"),
        )
        .arg(flag("test", "Runs candle's own tests for GPUs, models and training").conflicts_with("out"))
        .arg(
            list(
                "device",
                "DEVICE,...",
                "Devices to test, such as sim-rocm:gfx90a or cuda:0 [default: sim-cuda,sim-rocm:gfx90a]",
            )
            .requires("test"),
        )
        .arg(
            Arg::new("filter")
                .long("filter")
                .value_name("NAME")
                .requires("test")
                .help("Runs only the tests whose name contains this"),
        )
        .arg(
            flag("check-newest", "Tries the newest release of candle, and prints which edits no longer fit")
                .conflicts_with_all(["test", "out"]),
        )
}

fn foreign() -> Command {
    Command::new("foreign")
        .about("Runs other people's programs on the simulated GPUs: cudarc's tests, Debian's rocSPARSE")
        .arg(
            Arg::new("program")
                .value_name("PROGRAM")
                .num_args(0..)
                .value_parser(Program::ALL.map(Program::name))
                .help("The programs to run; by default all"),
        )
}

fn sanitize() -> Command {
    Command::new("sanitize")
        .about("Runs tests under programs that watch memory and threads: Valgrind, AddressSanitizer, loom, Miri")
        .arg(
            Arg::new("checker")
                .value_name("CHECKER")
                .num_args(0..)
                .value_parser(Checker::ALL.map(Checker::name))
                .help("The checkers to run; by default all that can run on this machine"),
        )
}

fn model() -> Command {
    Command::new("model").about("Fetches all-MiniLM-L6-v2, which the example `embed` runs, and prints its folder")
}

fn onnx() -> Command {
    Command::new("onnx")
        .about("Runs the node tests of ONNX on each device, lowered to operations of the HAL")
        .long_about(
            "Fetches the PyPI package onnx, writes its node tests to target/onnx, lowers them to operations of the HAL, and compares \
             the results of each device with the expected ones, and bit for bit with the CPU's. Prints how many cases are expressed, \
             passed, and listed in conformance/onnx/listed.tsv. Fails if another case disagrees, or a listed one passes.",
        )
        .arg(list("devices", "DEVICE,...", "Devices, such as cuda:0 [default: cpu,sim-cuda,sim-rocm:gfx90a]"))
        .arg(
            Arg::new("filter")
                .long("filter")
                .value_name("TEXT")
                .help("Runs only the cases whose name contains this"),
        )
        .arg(flag("verbose", "Names the cases that are not expressed, with the reasons, and those that are listed"))
}

fn package() -> Command {
    Command::new("package")
        .about("Packages everything that is published, with compiled kernels for every target, and checks it as a registry would")
        .arg(flag("allow-dirty", "Packages even if files are not committed"))
        .arg(flag("keep-kernels", "Uses the compiled kernels of the last run"))
        .arg(flag("prove", "Builds a new program that uses the packages, without clang, and runs it on both simulated GPUs"))
}

fn hardware() -> Command {
    Command::new("hardware")
        .about("Writes the table of what ran on which card to docs/hardware.md, from the reports in docs/hardware")
        .arg(flag("check", "Only compares the table with the reports").conflicts_with("add"))
        .arg(
            Arg::new("add")
                .long("add")
                .value_name("ARCHIVE")
                .value_parser(value_parser!(PathBuf))
                .help("Checks a submitted report against the CPU of this machine and adds it"),
        )
}

fn doctor() -> Command {
    Command::new("doctor").about("Shows what was found on this machine and how to get what is missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn arguments_of_other_programs_pass_unread() {
        let matches = command().get_matches_from(["cargo xtask", "--yes", "conformance", "--devices", "cpu", "--help"]);
        assert!(matches.get_flag("yes"));
        let (_, args) = matches.subcommand().unwrap();
        let passed: Vec<_> = args.get_many::<String>("args").unwrap().collect();
        assert_eq!(passed, ["--devices", "cpu", "--help"]);
    }

    #[test]
    fn a_command_of_ones_own_runs_in_the_bare_root() {
        let matches =
            command().get_matches_from(["cargo xtask", "bare", "--with", "llvm,clang", "--", "cargo", "--version"]);
        let (_, args) = matches.subcommand().unwrap();
        assert_eq!(args.get_many::<String>("with").unwrap().collect::<Vec<_>>(), ["llvm", "clang"]);
        assert_eq!(args.get_many::<String>("command").unwrap().collect::<Vec<_>>(), ["cargo", "--version"]);
    }
}

//! The command line, as clap's builder: its derive macros would be compiled for this program alone,
//! before anything else.

use clap::{Arg, ArgAction, Command, value_parser};
use std::path::PathBuf;

/// Every task with its arguments.
pub fn command() -> Command {
    Command::new("cargo xtask")
        .bin_name("cargo xtask")
        .about("Isobit's tasks")
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(
            flag("yes", "Installs missing Debian packages without a question, with `sudo -n` where that is needed")
                .global(true),
        )
        .subcommands([conformance(), test(), bare(), kernels(), bench(), bindings(), model(), package(), doctor()])
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn list(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).value_delimiter(',').action(ArgAction::Append).help(help)
}

/// Every argument goes to a program that has a `--help` of its own.
fn handed_over(name: &'static str, about: &'static str) -> Command {
    let help = format!("{about}.\n\nAll arguments go to a program of its own; `cargo xtask {name} --help` lists them.");
    let args = Arg::new("args").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true).hide(true);
    Command::new(name).about(about).long_about(help).disable_help_flag(true).arg(args)
}

fn conformance() -> Command {
    handed_over("conformance", "The parity report: every device against the CPU reference, and against each other")
}

fn bench() -> Command {
    handed_over(
        "bench",
        "Measures every family against the floor: bytes over copy bandwidth, flops over the matrix rate",
    )
}

fn test() -> Command {
    Command::new("test")
        .about("Formatting, lints, unit and integration tests, and a short conformance run")
        .arg(flag(
            "full",
            "Also the long proofs: everything through NVRTC, every architecture, shifted approximations, documentation",
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
        .arg(list("with", "PACKAGES", "Debian packages that are there too, such as llvm,clang"))
        .arg(
            Arg::new("root")
                .long("root")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Where the root is made; an empty folder, or none yet [default: target/bare/root]"),
        )
        .arg(flag("keep", "Leaves the root there afterwards"))
        .arg(flag("user", "Runs the commands as an ordinary user who may not install anything"))
        .arg(flag("no-network", "Runs the commands without network"))
        .arg(Arg::new("command").num_args(0..).last(true).help("Runs this command instead, in the clone"))
}

fn kernels() -> Command {
    Command::new("kernels")
        .about("Compiles the kernel tree")
        .arg(flag("all", "Every architecture that a package carries, not only those of development"))
        .arg(flag("resources", "Prints registers, spills and shared memory of every kernel for every target"))
}

fn bindings() -> Command {
    Command::new("bindings")
        .about("Compares the declarations of the -sys crates of ROCm with official headers")
        .arg(flag("check", "Compares, and fails where anything differs").required(true))
        .arg(
            Arg::new("include")
                .long("include")
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
                .help("A folder of headers, instead of those of ROCM_PATH, of /opt/rocm, or of Debian's packages"),
        )
}

fn model() -> Command {
    Command::new("model").about("Fetches all-MiniLM-L6-v2, which the example `embed` runs, and prints its folder")
}

fn package() -> Command {
    Command::new("package")
        .about("Packs everything that is published, with compiled kernels for every target, and checks it as a registry would")
        .arg(flag("allow-dirty", "Packages although files are not committed"))
        .arg(flag("keep-kernels", "Takes the compiled kernels as the last run left them"))
        .arg(flag("prove", "Builds a new program on the packages, without clang, and runs it on both simulated GPUs"))
}

fn doctor() -> Command {
    Command::new("doctor").about("What was found on this machine, and what to do about what is missing")
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

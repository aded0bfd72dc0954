//! What cargo is asked to build and to test for a mutant of host code, and what its output says.

use anyhow::{Result, bail};

/// The package and the program of the suite.
const SUITE: &str = "isobit-conformance";

/// Whether a file belongs to the simulated GPUs, which depend on nothing else in the checkout.
pub fn changes_simulators(file: &str) -> bool {
    file.starts_with("simgpu/")
}

/// How cargo builds the suite.
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// The arguments that select the packages of the suite.
    pub selection: Vec<String>,
    /// The features of all packages, as `package/feature`.
    pub features: Vec<String>,
    /// A package that gives every build the same features.
    pub unite: String,
}

impl Build {
    /// Returns the `--features` of some packages.
    fn features_of(&self, packages: &[&str]) -> Vec<String> {
        let chosen = self.features.iter().filter(|f| packages.iter().any(|p| f.split('/').next() == Some(p)));
        let chosen: Vec<&str> = chosen.map(String::as_str).collect();
        if chosen.is_empty() { Vec::new() } else { vec!["--features".into(), chosen.join(",")] }
    }

    /// Returns the arguments that build what runs the cells of a mutant of a file. Only a mutant of
    /// the simulators needs others than the checkout has.
    pub fn suite(&self, file: &str) -> Vec<String> {
        let mut all = vec!["build".to_string()];
        if changes_simulators(file) {
            all.extend(self.selection.iter().cloned());
        } else {
            all.extend(["--package", SUITE, "--bin", SUITE].map(str::to_string));
            if !self.unite.is_empty() {
                all.extend(["--package".into(), self.unite.clone()]);
            }
        }
        all.extend(self.features_of(&[SUITE]));
        all
    }

    /// Returns the arguments of cargo for a mutant's test command.
    pub fn test(&self, arguments: &str) -> Vec<String> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let packages: Vec<&str> =
            words.windows(2).filter(|w| w[0] == "-p" || w[0] == "--package").map(|w| w[1]).collect();
        let mut all = vec!["test".to_string()];
        if !self.unite.is_empty() {
            all.extend(["--package".into(), self.unite.clone()]);
        }
        all.extend(self.features_of(&packages));
        let (own, programs) = words.split_at(words.iter().position(|w| *w == "--").unwrap_or(words.len()));
        all.extend(own.iter().map(|w| w.to_string()));
        // Without a choice, cargo also compiles every example of the documentation, which takes
        // longer than all tests.
        if !own.iter().any(|w| ["--lib", "--test", "--tests", "--bin", "--doc"].contains(w)) {
            all.push("--tests".into());
        }
        all.extend(programs.iter().map(|w| w.to_string()));
        all
    }
}

/// Returns the arguments that only build the tests.
pub fn no_run(arguments: &[String]) -> Vec<String> {
    let own = arguments.iter().take_while(|a| *a != "--").cloned();
    own.chain(["--no-run".to_string()]).collect()
}

/// Whether a test has run, rather than none by that name.
pub fn has_run_tests(printed: &str) -> bool {
    let counts = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next());
    counts.filter_map(|n| n.parse::<u64>().ok()).any(|n| n > 0)
}

/// Returns why the compiler refuses.
///
/// # Errors
/// Fails if the output has no error of the compiler: the build then failed for another reason.
pub fn refused(printed: &str) -> Result<String> {
    let error = printed.lines().find(|line| line.starts_with("error[E") || line.starts_with("error: "));
    // A compiler that was ended has given no reason.
    match error.filter(|error| !error.starts_with("error: could not compile")) {
        // A full disk or a missing tool is no property of the mutant.
        Some(error) if !error.contains("failed to run custom build command") || printed.contains(".cu") => {
            Ok(error.to_string())
        }
        _ => bail!("a build failed, and not because of the code:\n{}", tail(printed)),
    }
}

/// Returns the end of what a program printed.
pub fn tail(printed: &str) -> String {
    let lines: Vec<&str> = printed.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_command_has_the_features_of_its_packages() {
        let build = Build {
            selection: Vec::new(),
            features: ["isobit-kernels/cuda", "isobit-kernels/rocm", "isobit/cuda"].map(str::to_string).into(),
            unite: "isobit-features".into(),
        };
        let words = build.test("-p isobit-kernels --lib pool -- --exact");
        let expected = "test --package isobit-features --features isobit-kernels/cuda,isobit-kernels/rocm \
                        -p isobit-kernels --lib pool -- --exact";
        assert_eq!(words.join(" "), expected);
        assert_eq!(no_run(&words).last().unwrap(), "--no-run");
        assert!(!no_run(&words).contains(&"--exact".to_string()));
        assert_eq!(build.test("-p isobit-hal").join(" "), "test --package isobit-features -p isobit-hal --tests");
        assert_eq!(
            build.suite("hal/src/a.rs").join(" "),
            "build --package isobit-conformance --bin isobit-conformance \
                                                           --package isobit-features"
        );
    }

    #[test]
    fn only_the_code_is_to_blame_for_what_does_not_compile() {
        let typed = "   Compiling a v0.1.0\nerror[E0308]: mismatched types\n --> src/lib.rs:1";
        assert_eq!(refused(typed).unwrap(), "error[E0308]: mismatched types");
        let disk = "error: failed to run custom build command for `x`\nNo space left on device";
        assert!(refused(disk).unwrap_err().to_string().contains("No space left"));
        assert!(refused("killed").is_err());
    }

    #[test]
    fn a_command_that_selects_no_test_is_noticed() {
        assert!(has_run_tests("test a ... ok\ntest result: ok. 1 passed; 0 failed"));
        assert!(!has_run_tests("running 0 tests\ntest result: ok. 0 passed; 0 failed; 3 filtered out"));
    }
}

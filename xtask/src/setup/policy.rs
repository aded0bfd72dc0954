//! Decides whether packages may be installed, and what to print otherwise.

/// The facts that the decision is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Whether `apt-get` exists.
    pub apt: bool,
    /// Whether the user is root.
    pub root: bool,
    /// Whether `CI` is set or `--yes` was given.
    pub agreed: bool,
    /// Whether the user can be asked on a terminal.
    pub terminal: bool,
    /// Whether `sudo` exists.
    pub sudo: bool,
    /// Whether `sudo` works without a password.
    pub sudo_is_free: bool,
}

/// What to do about missing packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Install them as this user.
    Install,
    /// Install them with `sudo -n`.
    InstallWithSudo,
    /// Ask the user, then install them with `sudo`.
    Ask,
    /// Print the command and continue without them.
    Tell,
}

/// Decides what to do.
pub fn decide(facts: Facts) -> Outcome {
    match facts {
        Facts { apt: false, .. } => Outcome::Tell,
        Facts { root: true, .. } => Outcome::Install,
        Facts { agreed: true, sudo_is_free: true, .. } => Outcome::InstallWithSudo,
        Facts { agreed: false, terminal: true, sudo: true, .. } => Outcome::Ask,
        _ => Outcome::Tell,
    }
}

/// Returns a message about which packages are missing and how to install them.
pub fn told(facts: Facts, packages: &[&str]) -> String {
    let (are, them) = if let [_] = packages { ("is", "it") } else { ("are", "them") };
    let list = packages.join(", ");
    let list = list.rsplit_once(", ").map_or(list.clone(), |(first, last)| format!("{first} and {last}"));
    let words = packages.join(" ");
    if !facts.apt {
        return format!(
            "{list} {are} missing, and there is no apt-get here. These are Debian's names: install your system's equivalents"
        );
    }
    let why = match facts {
        Facts { sudo: false, .. } => format!("only root can install {them}: as root, run"),
        Facts { agreed: true, .. } => "sudo asks for a password. Run".into(),
        _ => "this task installs nothing without asking. Run".into(),
    };
    let command = if facts.sudo { format!("sudo apt-get install {words}") } else { format!("apt-get install {words}") };
    let or = if facts.sudo && facts.sudo_is_free { "\n  or pass `--yes`" } else { "" };
    format!("{list} {are} missing, and {why}\n    {command}{or}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Facts =
        Facts { apt: true, root: false, agreed: false, terminal: false, sudo: false, sudo_is_free: false };

    #[test]
    fn who_may_install() {
        let sudo = Facts { sudo: true, sudo_is_free: true, ..NOBODY };
        for (facts, outcome) in [
            (NOBODY, Outcome::Tell),
            (Facts { root: true, ..NOBODY }, Outcome::Install),
            (Facts { root: true, apt: false, ..NOBODY }, Outcome::Tell),
            // sudo without a password is not consent.
            (sudo, Outcome::Tell),
            (Facts { agreed: true, ..sudo }, Outcome::InstallWithSudo),
            (Facts { agreed: true, terminal: true, ..sudo }, Outcome::InstallWithSudo),
            (Facts { agreed: true, apt: false, ..sudo }, Outcome::Tell),
            // sudo -n fails if it needs a password, and CI cannot ask anyone.
            (Facts { agreed: true, sudo_is_free: false, ..sudo }, Outcome::Tell),
            (Facts { agreed: true, terminal: true, sudo_is_free: false, ..sudo }, Outcome::Tell),
            (Facts { terminal: true, ..sudo }, Outcome::Ask),
            (Facts { terminal: true, sudo_is_free: false, ..sudo }, Outcome::Ask),
            (Facts { terminal: true, ..NOBODY }, Outcome::Tell),
        ] {
            assert_eq!(decide(facts), outcome, "{facts:?}");
        }
    }

    #[test]
    fn the_command_is_told_as_this_user_would_run_it() {
        let packages = ["clang-19", "lld-19", "llvm-19"];
        let plain = told(NOBODY, &packages);
        assert!(plain.contains("clang-19, lld-19 and llvm-19 are missing"), "{plain}");
        assert!(plain.contains("as root, run\n    apt-get install clang-19 lld-19 llvm-19"), "{plain}");
        let sudo = told(Facts { sudo: true, ..NOBODY }, &packages[..1]);
        assert!(sudo.contains("clang-19 is missing") && sudo.contains("sudo apt-get install clang-19"), "{sudo}");
        assert!(!sudo.contains("--yes"), "{sudo}");
        let free = told(Facts { sudo: true, sudo_is_free: true, ..NOBODY }, &packages);
        assert!(free.contains("installs nothing without asking") && free.contains("--yes"), "{free}");
        let ci = told(Facts { sudo: true, agreed: true, ..NOBODY }, &packages);
        assert!(ci.contains("sudo asks for a password"), "{ci}");
        let elsewhere = told(Facts { apt: false, ..NOBODY }, &packages);
        assert!(elsewhere.contains("no apt-get here") && !elsewhere.contains("sudo"), "{elsewhere}");
    }
}

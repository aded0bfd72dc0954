//! This machine's settings for registries, mirrors, proxies and certificates, which a bare root
//! needs to reach them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The Debian release of the root.
pub const SUITE: &str = "bookworm";

/// Returns the variables of this process that a command in the root gets.
pub fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    all.filter(|(name, _)| name.to_str().is_some_and(is_about_networks)).collect()
}

fn is_about_networks(name: &str) -> bool {
    // Cargo sets many more variables for this process, which describe its own location.
    let cargo = ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];
    let certificates = ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"];
    let secret = ["TOKEN", "PASSWORD", "SECRET", "CREDENTIAL"];
    let wanted = name.to_ascii_uppercase().ends_with("_PROXY")
        || name.starts_with("PIP_")
        || cargo.iter().any(|prefix| name.starts_with(prefix))
        || certificates.contains(&name);
    wanted && !secret.iter().any(|word| name.contains(word))
}

/// Returns the files and folders to copy into the root, and their places there. `there` is the
/// user's home folder in the root.
pub fn files(there: &Path) -> Vec<(PathBuf, PathBuf)> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let same = |path: &str| (PathBuf::from(path), PathBuf::from(path));
    let mut files = vec![
        same("/etc/resolv.conf"),
        same("/etc/hosts"),
        same("/etc/pip.conf"),
        same("/etc/ssl/certs"),
        same("/usr/local/share/ca-certificates"),
    ];
    files.extend([".config/pip/pip.conf", ".pip/pip.conf"].map(|name| (home.join(name), there.join(name))));
    files.extend(["config.toml", "config"].map(|name| (cargo_home.join(name), there.join(".cargo").join(name))));
    files.extend(apt_settings().into_iter().map(|file| (file.clone(), file)));
    files.retain(|(from, _)| from.exists());
    files
}

/// Returns apt's configuration files about proxies and certificates. Other settings apply only to
/// this machine's packages.
pub fn apt_settings() -> Vec<PathBuf> {
    let files = std::fs::read_dir("/etc/apt/apt.conf.d").into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|file| std::fs::read_to_string(file).is_ok_and(|text| is_about_fetching(&text))).collect()
}

fn is_about_fetching(text: &str) -> bool {
    let settings = text.lines().map(str::trim).filter(|line| !line.starts_with("//") && !line.starts_with('#'));
    settings
        .map(str::to_ascii_lowercase)
        .any(|line| line.starts_with("acquire") && !line.contains("gzipindexes") && !line.contains("languages"))
}

/// Returns lines of a `sources.list` for the root, with the mirrors that this machine uses for the
/// release; empty if it has none.
pub fn sources() -> Vec<String> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let more = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    files.extend(
        more.map(|entry| entry.path()).filter(|p| p.extension().is_some_and(|e| e == "list" || e == "sources")),
    );
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    texts.flat_map(|text| of_release(&text)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the lines of one file, in either of its two formats, that are about the release and its
/// updates.
fn of_release(text: &str) -> Vec<String> {
    let ours = [SUITE.to_string(), format!("{SUITE}-updates"), format!("{SUITE}-security")];
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| line.starts_with("deb ")) {
        let words: Vec<&str> =
            line.split_whitespace().skip(1).skip_while(|w| w.starts_with('[') || w.ends_with(']')).collect();
        if let [uri, suite, components @ ..] = &words[..]
            && ours.iter().any(|o| o == suite)
            && components.contains(&"main")
        {
            lines.push(format!("deb {uri} {suite} main"));
        }
    }
    for stanza in text.split("\n\n") {
        let field = |name: &str| {
            let line = stanza.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
            line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value)
        };
        if !field("types:").split_whitespace().any(|t| t == "deb") || !field("components:").contains("main") {
            continue;
        }
        for uri in field("uris:").split_whitespace() {
            let suites = field("suites:").split_whitespace().filter(|suite| ours.iter().any(|o| o == suite));
            lines.extend(suites.map(|suite| format!("deb {uri} {suite} main")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_about_networks_is_passed_on() {
        for name in [
            "HTTPS_PROXY",
            "no_proxy",
            "PIP_INDEX_URL",
            "CARGO_HTTP_CAINFO",
            "CARGO_REGISTRIES_X_INDEX",
            "SSL_CERT_FILE",
        ] {
            assert!(is_about_networks(name), "{name}");
        }
        for name in
            ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_HOME", "CARGO_TARGET_DIR", "PATH", "CARGO_REGISTRY_TOKEN", "HOME"]
        {
            assert!(!is_about_networks(name), "{name}");
        }
    }

    #[test]
    fn mirrors_of_the_release_are_read_in_both_forms() {
        let list = "# deb http://a bookworm main\ndeb [signed-by=/k arch=amd64] http://mirror/debian bookworm main contrib\n\
                    deb http://other/repo bookworm-pgdg main\ndeb-src http://mirror/debian bookworm main\n";
        assert_eq!(of_release(list), ["deb http://mirror/debian bookworm main"]);
        let sources = "Types: deb deb-src\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\n\
                       Types: deb\nURIs: http://mirror/security\nSuites: bookworm-security\nComponents: main\n\n\
                       Types: deb\nURIs: https://x/node\nSuites: nodistro\nComponents: main\n";
        assert_eq!(
            of_release(sources),
            [
                "deb http://mirror/debian bookworm main",
                "deb http://mirror/debian bookworm-updates main",
                "deb http://mirror/security bookworm-security main"
            ]
        );
    }

    #[test]
    fn settings_of_apt_are_passed_on_where_they_are_about_fetching() {
        assert!(is_about_fetching("Acquire::http::Proxy \"http://proxy:3128\";\n"));
        assert!(!is_about_fetching("// Acquire::http::Proxy \"x\";\nAPT::NeverAutoRemove {};\n"));
        assert!(!is_about_fetching("Acquire::Languages \"none\";\n"));
    }
}

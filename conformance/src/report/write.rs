//! The files of a report.

use super::{Report, html, junit};
use std::io;
use std::path::{Path, PathBuf};

/// The paths of a report's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// `report.json`, schema 1.
    pub json: PathBuf,
    /// `report.html`, a single page that needs no network.
    pub html: PathBuf,
    /// `junit.xml`, for CI servers.
    pub junit: PathBuf,
}

/// Writes `report.json`, `report.html` and `junit.xml` into a directory, and creates the directory
/// if it does not exist.
///
/// # Errors
/// Returns the error of the file system, with the path.
pub fn write(report: &Report, dir: &Path) -> io::Result<Written> {
    let named = |path: &Path, e: io::Error| io::Error::new(e.kind(), format!("cannot write {}: {e}", path.display()));
    std::fs::create_dir_all(dir).map_err(|e| named(dir, e))?;
    let put = |name: &str, text: String| {
        let path = dir.join(name);
        // Written under a temporary name first, so that a reader never sees an incomplete report.
        let part = dir.join(format!("{name}.part"));
        std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &path)).map_err(|e| named(&path, e))?;
        Ok::<_, io::Error>(path)
    };
    let mut json = serde_json::to_string_pretty(report)?;
    json.push('\n');
    Ok(Written {
        json: put("report.json", json)?,
        html: put("report.html", html(report))?,
        junit: put("junit.xml", junit(report)?)?,
    })
}

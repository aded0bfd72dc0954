//! The picture: where the rows stand against the roof of the device. Rows with floating-point
//! operations have a roofline for each family; of the others, the share of the copy rate counts.

mod lanes;
mod paper;
mod roofline;

use crate::report::Report;
use crate::roof::Roof;
use isobit_hal::{Error, ErrorKind, Result};
use paper::{INK, MUTED, Text, WIDTH, dtype_colours};
use std::path::Path;
use svg::Document;
use svg::node::element::{Group, Rectangle, Title};

/// Draws the picture of a benchmark into a file.
///
/// # Errors
/// Returns `InvalidArgument` if no row can be drawn, and `Other` if the file cannot be written.
pub fn write(report: &Report, roof: &Roof, path: &Path) -> Result<()> {
    let picture = draw(report, roof).ok_or_else(|| {
        let message = format!(
            "{} would be empty: none of the {} rows has bytes or operations that the roof is made of; select others with --ops and --dtypes",
            path.display(),
            report.rows.len()
        );
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    let failed = |e: std::io::Error| {
        Error::new(ErrorKind::Other, format!("the picture {} cannot be written", path.display())).with_source(e)
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    svg::save(path, &picture).map_err(failed)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// Draws both parts, or the one that there are rows for.
fn draw(report: &Report, roof: &Roof) -> Option<Document> {
    const HEAD: f64 = 84.0;
    let (above, below) = (roofline::draw(report, roof, HEAD), roofline::height(report));
    let lanes = lanes::draw(report, HEAD + below);
    if above.is_none() && lanes.is_none() {
        return None;
    }
    let height = HEAD + below + lanes::height(report);
    let title = format!("Isobit on {}: rows of the benchmark against the roof of the device", report.device);
    let mut page = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, height))
        .set("width", WIDTH)
        .set("height", height)
        .set("role", "img")
        .set("font-family", "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif")
        .add(Title::new(title.as_str()))
        // Pages are white or dark; the picture is always on white.
        .add(Rectangle::new().set("width", WIDTH).set("height", height).set("fill", "#fff"))
        .add(head(report, &title));
    for part in above.into_iter().chain(lanes) {
        page = page.add(part);
    }
    Some(page)
}

/// The title, what was measured with what, and the colours of the dtypes.
fn head(report: &Report, title: &str) -> Group {
    let measured = format!(
        "{}, driver {}, kernels by {}; {}, {}; copy {:.0} GB/s",
        report.arch,
        report.driver_version,
        report.kernel_compiler,
        report.git.as_deref().unwrap_or("no commit"),
        report.date.split('T').next().unwrap_or(&report.date),
        report.copy_gb_per_s
    );
    Group::new()
        .add(Text { size: 17.0, bold: true, ..Text::at(16.0, 28.0) }.of(title))
        .add(Text { fill: MUTED, ..Text::at(16.0, 48.0) }.of(&paper::cut(&measured, 150)))
        .add(dtype_colours(16.0, 70.0, INK))
}

#[cfg(test)]
mod tests;

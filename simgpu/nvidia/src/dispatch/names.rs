//! Names of blocks, threads and instructions, for findings.

use crate::exec::program::{Program, Text};
use crate::exec::row::LANES;
use isobit_simgpu_core::check::{Describe, Place};
use isobit_simgpu_core::engine::coordinates;

/// The data that names are made from.
pub(super) struct Names<'a> {
    pub(super) program: &'a Program,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
}

impl Describe for Names<'_> {
    fn instruction(&self, site: u32) -> String {
        let Some(origin) = self.program.origins.get(site as usize) else { return String::new() };
        let text = &self.program.text;
        let mut name = format!("line {}: {}", origin.line, quote(text, origin.line));
        if let Some((file, line)) = origin.location
            && let Some((_, path)) = text.files.iter().find(|(number, _)| *number == file)
        {
            let file = path.rsplit('/').next().unwrap_or(path);
            name += &format!(" ({file}:{line})");
        }
        name
    }

    fn thread(&self, place: &Place, lane: u32) -> String {
        let block = coordinates(place.group, self.grid);
        let thread = coordinates(place.wave * LANES as u32 + lane, self.block);
        format!("block {block:?} thread {thread:?}")
    }
}

/// Returns a line of the text without its comment, with each run of blanks reduced to one.
fn quote(text: &Text, line: u32) -> String {
    let Some(start) = (line as usize).checked_sub(1).and_then(|at| text.lines.get(at)) else { return String::new() };
    let line = text.ptx[*start as usize..].lines().next().unwrap_or_default();
    let code = line.split("//").next().unwrap_or_default();
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

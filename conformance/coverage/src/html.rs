//! The page with the sources, each line marked with what ran of it.

use crate::report::Report;
use crate::sources::Sources;
use crate::tally::Tally;
use anyhow::Result;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

#[derive(Serialize)]
struct Context<'a> {
    report: &'a Report,
    sources: Vec<Source<'a>>,
}

#[derive(Serialize)]
struct Source<'a> {
    name: &'a str,
    total: usize,
    reached: usize,
    lines: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    number: u32,
    text: &'a str,
    /// `ran`, `partly`, `not` or empty: no instruction.
    class: &'static str,
    /// Executed instructions and all.
    counts: String,
}

/// Returns the page.
///
/// # Errors
/// Fails if the template is wrong.
pub fn page(report: &Report, tally: &Tally, sources: &Sources) -> Result<String> {
    let mut environment = Environment::new();
    // The template's name ends in .html, so minijinja escapes every value.
    environment.add_template("page.html", include_str!("page.html"))?;
    let mut pages = Vec::new();
    for of in &report.sources {
        let counted = tally.lines.get(&of.name);
        let mut lines = Vec::new();
        for (number, text) in (1..).zip(sources.lines(&of.name)) {
            let line = counted.and_then(|lines| lines.get(&number));
            let class = match line {
                None => "",
                Some(line) if line.executed == 0 => "not",
                Some(line) if line.executed < line.instructions => "partly",
                Some(_) => "ran",
            };
            let counts = line.map(|line| format!("{} / {}", line.executed, line.instructions));
            lines.push(Line { number, text, class, counts: counts.unwrap_or_default() });
        }
        pages.push(Source { name: &of.name, total: of.lines.total, reached: of.lines.reached, lines });
    }
    Ok(environment.get_template("page.html")?.render(Value::from(Serde(Context { report, sources: pages })))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasons::Reasons;
    use crate::tally::tests::example;

    #[test]
    fn lines_are_escaped_and_marked() {
        let (sources, tally) = example();
        let report = Report::new(&tally, &sources, &Reasons::default());
        let page = page(&report, &tally, &sources).unwrap();
        for has in ["three &lt;&amp;&gt;", "class=\"not\"", "class=\"partly\"", "class=\"ran\"", "ops&#x2f;a.cu"] {
            assert!(page.contains(has), "{has}: {page}");
        }
    }
}

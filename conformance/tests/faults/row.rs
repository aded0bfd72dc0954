//! The table of faults: rows travel from the processes of a device to the test, which compares them
//! with the table of the documentation.

use crate::card::Card;
use std::collections::BTreeMap;
use std::path::Path;

/// A fault that gave what it must give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What fails, and when.
    pub what: String,
    /// The fault in the language of `ISOBIT_SIM_FAULT`, or what else was done.
    pub fault: String,
    /// The kind of the error, or that it works.
    pub outcome: String,
    /// What was checked in addition to the outcome.
    pub checked: String,
}

const MARK: &str = "fault|";

impl Row {
    /// Creates a row.
    pub fn new(
        what: impl Into<String>,
        fault: impl Into<String>,
        outcome: impl Into<String>,
        checked: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), fault: fault.into(), outcome: outcome.into(), checked: checked.into() }
    }

    /// Tells the row to the parent process.
    pub fn tell(&self) {
        println!("\n{MARK}{}|{}|{}|{}", self.what, self.fault, self.outcome, self.checked);
    }

    /// Returns the row of a line, if it has one.
    pub fn heard(line: &str) -> Option<Self> {
        let mut parts = line.strip_prefix(MARK)?.split('|').map(str::to_owned);
        let mut next = || parts.next();
        Some(Self { what: next()?, fault: next()?, outcome: next()?, checked: next()? })
    }
}

const BEGIN: &str = "<!-- The table is written by the test: ISOBIT_BLESS=1. -->\n\n";

/// Prints the table and compares it with the documentation, if it is complete. With
/// `ISOBIT_BLESS=1`, writes it there.
pub fn table(of_cards: &[Vec<Row>], is_complete: bool) {
    let text = to_text(of_cards);
    println!("{text}");
    if !is_complete {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/faults.md");
    let page = std::fs::read_to_string(&path).expect("docs/faults.md");
    let (head, _) = page.split_once(BEGIN).expect("the page has the mark of the table");
    let expected = format!("{head}{BEGIN}{text}");
    if std::env::var("ISOBIT_BLESS").is_ok_and(|bless| bless == "1") {
        std::fs::write(&path, expected).expect("the page can be written");
        return;
    }
    assert!(
        page == expected,
        "the table of docs/faults.md is not that of this test; ISOBIT_BLESS=1 writes it:\n{text}"
    );
}

/// Returns the table in Markdown: one row for what fails, with the faults of both vendors. Both AMD
/// cards have the same faults.
fn to_text(of_cards: &[Vec<Row>]) -> String {
    let mut order: Vec<&str> = Vec::new();
    let mut found: BTreeMap<&str, Vec<(usize, &Row)>> = BTreeMap::new();
    for (card, rows) in of_cards.iter().enumerate() {
        for row in rows {
            let of = found.entry(&row.what).or_default();
            if of.is_empty() {
                order.push(&row.what);
            }
            assert!(of.iter().all(|(other, _)| *other != card), "{} is there twice", row.what);
            of.push((card, row));
        }
    }
    let mut text = "| what fails | NVIDIA | AMD | outcome | checked |\n|---|---|---|---|---|\n".to_owned();
    for what in order {
        let of = &found[what];
        let fault = |vendor: usize| {
            let mut faults = of.iter().filter(|(card, _)| Card::ALL[*card].vendor == vendor).map(|(_, row)| &row.fault);
            let first = faults.next();
            assert!(faults.all(|other| Some(other) == first), "{what}: the cards of a vendor differ");
            first.map_or("—".into(), |fault| format!("`{fault}`"))
        };
        let first = of[0].1;
        let differs = of.iter().find(|(_, row)| row.outcome != first.outcome);
        let outcome = match differs {
            None => first.outcome.clone(),
            Some((card, row)) if Card::ALL[*card].vendor == 1 => format!("{}; AMD: {}", first.outcome, row.outcome),
            Some((_, row)) => panic!("{what}: {first:?} and {row:?}"),
        };
        text += &format!("| {what} | {} | {} | {outcome} | {} |\n", fault(0), fault(1), first.checked);
    }
    text
}

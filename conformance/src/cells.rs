//! Cells: every operation at every combination of dtypes, and the committed table of the expected
//! class and exceptions of each.
//!
//! The operations, dtypes and classes come from hal, so the suite covers a new one as soon as it is
//! declared. A test compares the table, `cells.tsv`, with what is generated here, so that a class
//! or a refusal cannot change unnoticed.

pub use crate::family::Operation;
use crate::schema::Class;
use isobit_hal::{DType, Matmul, Numerics, Op};
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

/// An operation at given dtypes and, for operations that a vendor library can also compute, the
/// choice of who computes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell {
    /// The operation.
    pub operation: Operation,
    /// The dtypes of all operands, inputs first and the destination last, as [`isobit_hal::Op`]
    /// documents them.
    pub dtypes: Vec<DType>,
    /// Portable or vendor numerics, for operations that offer a choice.
    pub numerics: Option<Numerics>,
}

impl Cell {
    /// Returns every cell, in the order of reports.
    pub fn all() -> &'static [Cell] {
        static ALL: OnceLock<Vec<Cell>> = OnceLock::new();
        ALL.get_or_init(|| Operation::all().flat_map(cells_of).collect())
    }

    /// Returns the cell with the given operation name, label and numerics.
    pub fn find(op: &str, label: &str, numerics: Option<Numerics>) -> Option<&'static Cell> {
        Cell::all().iter().find(|c| c.operation.name() == op && c.label() == label && c.numerics == numerics)
    }

    /// Returns the dtypes that distinguish the cell from its siblings, as `f32` or `f32,f16`.
    pub fn label(&self) -> String {
        let names: Vec<_> = self.distinctive().iter().map(|d| d.as_str()).collect();
        names.join(",")
    }

    fn dtypes_of(&self, operands: &[usize]) -> Vec<DType> {
        operands.iter().map(|&i| self.dtypes[i]).collect()
    }

    fn distinctive(&self) -> Vec<DType> {
        self.dtypes_of(self.operation.family().distinctive(self.operation.op()))
    }

    /// Returns the dtypes of the values, by which filters select; the condition of `where_cond` is
    /// not one of them.
    pub fn value_dtypes(&self) -> Vec<DType> {
        self.dtypes_of(self.operation.family().values_of(self.operation.op()))
    }

    /// Returns hal's operation with placeholder parameters, to query its support and class.
    pub fn op(&self) -> Op {
        self.operation.at(&self.dtypes).with_numerics(self.numerics)
    }

    /// Returns the dtype of the result.
    pub fn dst_dtype(&self) -> DType {
        *self.dtypes.last().expect("every operation has a destination")
    }

    /// Returns how the cell is compared.
    pub fn class(&self) -> Class {
        self.op().class(&self.dtypes).into()
    }

    /// Whether the cell differs from a sibling only in how a kernel loads and stores elements, so
    /// that fewer cases are enough of it: quantized products of dtypes other than f32, convolutions
    /// with a bias.
    pub fn is_variant(&self) -> bool {
        self.operation.family().is_variant(self)
    }

    /// Whether a device may report an index out of range after a case, at the next call that
    /// synchronises. Nothing else may run on the device meanwhile.
    pub fn runs_alone(&self) -> bool {
        self.operation.family().may_report(self.operation.op())
    }

    /// Returns what the committed table says about the cell.
    pub fn expectation(&self) -> &'static Expectation {
        table().get(self).unwrap_or_else(|| {
            panic!("{self} is not in cells.tsv: run `ISOBIT_BLESS=1 cargo test -p isobit-conformance --lib cells`")
        })
    }

    /// Returns the exception of a driver for the cell; `None` if it is expected to pass.
    pub fn exception(&self, driver: &str) -> Option<&'static Exception> {
        self.expectation().exceptions.iter().find(|e| e.driver == driver)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operation.name(), self.label())?;
        self.numerics.map_or(Ok(()), |numerics| write!(f, " {numerics}"))
    }
}

fn cells_of(operation: Operation) -> Vec<Cell> {
    let numerics = |dtypes: &[DType]| -> Vec<Option<Numerics>> {
        let op = operation.op();
        if !op.has_numerics() {
            return vec![None];
        }
        let has_blocks = op.has_blocks() && dtypes.last().is_some_and(|&dst| Matmul::block_digits(dst).is_some());
        let has = |numerics: &&Numerics| match numerics {
            Numerics::Vendor => op.clone().with_numerics(Some(**numerics)).class(dtypes) == isobit_hal::Class::Vendor,
            Numerics::Block => has_blocks,
            _ => true,
        };
        [Numerics::Portable, Numerics::Vendor, Numerics::Block].iter().filter(has).copied().map(Some).collect()
    };
    let tuples = operation.family().dtypes(operation.op());
    let defined = tuples.into_iter().filter(|dtypes| operation.at(dtypes).check_dtypes(dtypes).is_ok());
    defined
        .flat_map(|dtypes| {
            numerics(&dtypes).into_iter().map(move |numerics| Cell { operation, dtypes: dtypes.clone(), numerics })
        })
        .collect()
}

/// What the committed table says about a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// How the cell is compared.
    pub class: Class,
    /// The drivers that are not expected to pass.
    pub exceptions: Vec<Exception>,
}

/// A driver that does not pass a cell and is not expected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// The driver: the name before the colon in a device's id.
    pub driver: String,
    /// Whether it refuses the cell; otherwise it runs the cell and fails.
    pub unsupported: bool,
    /// The reason, with the issue that will change it.
    pub reason: String,
}

/// The committed table, as text.
pub const TABLE: &str = include_str!("../cells.tsv");

const HEADER: &str = "op\tdtypes\tnumerics\tclass\texceptions (driver:unsupported|expected_failure:reason; ...)";

fn key_columns(cell: &Cell) -> String {
    let numerics = cell.numerics.map_or("-", Numerics::name);
    format!("{}\t{}\t{numerics}", cell.operation.name(), cell.label())
}

/// Generates the table from hal's operations, the classes above, and the exceptions of an older
/// table.
pub fn generate_table(old: &str) -> String {
    let exceptions: HashMap<String, &str> = old
        .lines()
        .skip(1)
        .filter_map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            Some((columns.get(..3)?.join("\t"), *columns.get(4)?))
        })
        .collect();
    let mut out = format!("{HEADER}\n");
    for cell in Cell::all() {
        let key = key_columns(cell);
        let exceptions = exceptions.get(&key).copied().unwrap_or("-");
        out += &format!("{key}\t{}\t{exceptions}\n", cell.class().name());
    }
    out
}

fn parse_exceptions(column: &str) -> Vec<Exception> {
    if column == "-" {
        return Vec::new();
    }
    let parse = |text: &str| {
        let mut parts = text.trim().splitn(3, ':');
        let (driver, what, reason) = (parts.next()?, parts.next()?, parts.next()?);
        let unsupported = match what {
            "unsupported" => true,
            "expected_failure" => false,
            _ => return None,
        };
        Some(Exception { driver: driver.into(), unsupported, reason: reason.trim().into() })
    };
    column.split(';').map(|text| parse(text).unwrap_or_else(|| panic!("cells.tsv: bad exception `{text}`"))).collect()
}

fn table() -> &'static HashMap<Cell, Expectation> {
    static TABLE_MAP: OnceLock<HashMap<Cell, Expectation>> = OnceLock::new();
    TABLE_MAP.get_or_init(|| {
        let lines: HashMap<String, Expectation> = TABLE
            .lines()
            .skip(1)
            .map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                assert!(columns.len() == 5, "cells.tsv: expected five columns in `{line}`");
                let class = Class::ALL
                    .into_iter()
                    .find(|c| c.name() == columns[3])
                    .unwrap_or_else(|| panic!("cells.tsv: no class is named `{}`", columns[3]));
                (columns[..3].join("\t"), Expectation { class, exceptions: parse_exceptions(columns[4]) })
            })
            .collect();
        let entry = |cell: &Cell| Some((cell.clone(), lines.get(&key_columns(cell))?.clone()));
        Cell::all().iter().filter_map(entry).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_is_what_hal_declares() {
        let generated = generate_table(TABLE);
        if std::env::var_os("ISOBIT_BLESS").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/cells.tsv"), &generated).unwrap();
            return;
        }
        for (a, b) in TABLE.lines().zip(generated.lines()) {
            assert_eq!(
                a, b,
                "cells.tsv differs from what hal declares: review the difference, then rewrite it with ISOBIT_BLESS=1"
            );
        }
        assert_eq!(TABLE.lines().count(), generated.lines().count(), "cells were added or removed");
    }

    #[test]
    fn labels_tell_cells_apart() {
        let mut keys: Vec<String> = Cell::all().iter().map(key_columns).collect();
        keys.sort();
        let n = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), n);
        // Of every dtype, of floats and of integers: 10, 31 and 1 unaries; 10, 3 and 5 binaries; 9
        // comparisons; 1 and 2 tests; 4 float functions with a parameter. 3 conditions, 196 casts,
        // 4 moves and affine. Without the dtypes that are not combined: 10 and 5 reductions, 2 of
        // them with 4 dtypes more, matmul three times, but of f64 twice and of 3 integers
        // once, 4 forms of it of 4 pairs of bytes, with scales twice of 4 pairs of f8 into 3
        // floats, 4 fused additions. Then clamp.
        let functions = (10 + 10 + 9 + 1) * 14 + (31 + 3 + 2 + 4) * 6 + (1 + 5) * 8 + 10 * 11 + 2 * 4 + 5 * 5;
        let elementwise = functions + 3 * 14 + 196 + 4 * 14 + 3 * 5 - 1 + 3 + 4 * 4 + 2 * 4 * 3;
        let others = Cell::all().iter().filter(|c| c.operation.op().family() > isobit_hal::Family::Matmul).count();
        assert_eq!(n, elementwise + 14 + 4 * 5 + others);
    }

    #[test]
    fn vendor_is_legal_for_what_libraries_compute_alone() {
        for cell in Cell::all() {
            assert_eq!(cell.expectation().class == Class::Vendor, cell.numerics == Some(Numerics::Vendor), "{cell}");
            let op = cell.operation.op();
            assert_eq!(cell.numerics.is_some(), op.has_numerics(), "{cell}");
            assert!(cell.numerics != Some(Numerics::Vendor) || op.has_vendor(), "{cell}");
        }
    }
}

//! Checks the CPU driver against golden vectors and against the true values of its functions.

use isobit_conformance::accuracy::{self, exhaustive_bits, exhaustive_table};
use isobit_conformance::golden;
use isobit_conformance::report::{Class, ResultRow, Status};
use isobit_hal::{CpuDevice, DType, UnaryOp};

fn failures(rows: &[ResultRow]) -> Vec<String> {
    let failed = rows.iter().filter(|r| r.status != Status::Pass);
    failed.map(|r| format!("{} {}: {}", r.op, r.dtypes, r.worst.as_deref().unwrap_or("nothing is known"))).collect()
}

#[test]
fn the_cpu_agrees_with_the_golden_vectors() {
    let rows = golden::run(&CpuDevice, "cpu", &golden::Filter::default()).expect("the files are whole");
    assert_eq!(failures(&rows), Vec::<String>::new());
    // They contain every operation of the HAL and every dtype of it.
    let cells = |op: &str| rows.iter().filter(|r| r.op == op).count();
    for (op, count) in [("copy_strided_src", 14), ("copy2d", 14), ("const_set", 14), ("cast", 196), ("affine", 14)] {
        assert_eq!(cells(op), count, "{op}");
    }
    for (op, count) in [("neg", 14), ("exp", 6), ("erf", 6), ("pow", 14), ("ge", 14), ("where_cond", 42), ("mean", 5)] {
        assert_eq!(cells(op), count, "{op}");
    }
    for (op, count) in [("sum", 11), ("argmin", 11), ("matmul", 8), ("powf", 6), ("elu", 6)] {
        assert_eq!(cells(op), count, "{op}");
    }
    for (op, count) in [("matmul_integer", 4), ("matmul_integer_zeros", 4), ("pack_i4", 7), ("unpack_f4e2m1", 7)] {
        assert_eq!(cells(op), count, "{op}");
    }
    assert_eq!(cells("scaled_matmul"), 12);
    for layout in ["contiguous", "transposed", "broadcast", "narrowed", "stepped"] {
        assert!(rows.iter().any(|r| r.layouts.iter().any(|l| l == layout)), "no vector is {layout}");
    }
}

#[test]
fn what_the_vectors_leave_out_has_a_reason() {
    let skipped = golden::skipped().expect("the files are whole");
    assert!(skipped.iter().all(|[source, op, dtypes, why]| ![source, op, dtypes, why].iter().any(|s| s.is_empty())));
    assert!(skipped.iter().any(|s| s[1] == "round" && s[3].contains("halves")));
}

#[test]
fn the_recipes_are_within_their_bounds() {
    let options = accuracy::Options { samples: 20_000, ..Default::default() };
    let mut told = 0;
    let rows = accuracy::run(&options, |_| told += 1).expect("the driver implements them");
    assert_eq!(failures(&rows), Vec::<String>::new());
    assert_eq!(told, rows.len());
    assert!(rows.iter().all(|r| r.class == Class::Accuracy && r.reference == "exact"));
    // Narrow unary operations are correctly rounded on every input.
    for (dtype, inputs) in [("f8e4m3", 256), ("f8e5m2", 256), ("f16", 65536), ("bf16", 65536)] {
        for op in UnaryOp::ALL.iter().filter(|op| !op.is_int_only()) {
            let row = rows.iter().find(|r| r.op == op.name() && r.dtypes == dtype).expect("a row");
            assert!(row.cases == inputs && row.bit_exact, "{op} {dtype}: {:?}", row.worst);
        }
    }
    let table = exhaustive_table(&rows);
    assert!(table.starts_with("| operation | f8e4m3 | f16 | bf16 | f32 | f64 | f8e5m2 |"), "{table}");
    assert!(table.contains("\n| exp | ok | ok | ok | 0."), "{table}");
}

#[test]
fn filters_choose() {
    let options = accuracy::Options { ops: vec!["exp".into()], dtypes: vec![DType::F16], ..Default::default() };
    let rows = accuracy::run(&options, |_| ()).expect("the driver implements it");
    assert_eq!(rows.iter().map(|r| (&*r.op, &*r.dtypes, r.cases)).collect::<Vec<_>>(), [("exp", "f16", 65536)]);
    let filter = golden::Filter { ops: vec!["cast".into()], dtypes: vec!["f16".into()] };
    let rows = golden::run(&CpuDevice, "cpu", &filter).expect("the files are whole");
    assert_eq!(rows.len(), 27);
}

/// Any device may be the subject: the CPU equals itself on all inputs, in chunks whose size does
/// not divide their number.
#[test]
fn every_input_is_compared_once() {
    let ops = [UnaryOp::Exp, UnaryOp::Neg];
    let mut done = 0.0;
    let checks = exhaustive_bits(&CpuDevice, &ops, DType::BF16, Some(10_000), |f| done = f).expect("it runs");
    assert_eq!(done, 1.0);
    for check in checks {
        assert_eq!((check.inputs, check.mismatches, check.first), (65536, 0, None));
        let row = check.row("cpu");
        assert!(row.bit_exact && row.status == Status::Pass && row.class != Class::Accuracy);
    }
    assert!(exhaustive_bits(&CpuDevice, &ops, DType::F64, None, |_| ()).is_err());
}

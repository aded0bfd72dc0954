//! Reports of small made-up results: the totals, the contract for a passing report, and the
//! contents of each output format.

use isobit_conformance::report::matrix::{Matrix, State, family};
use isobit_conformance::report::merged::{Merged, Tally};
use isobit_conformance::report::{Build, Class, DeviceRow, Finding, Memory, NotRun, Report, ResultRow, Status};
use isobit_hal::Numerics;
use serde_json::Value;
use std::time::Duration;

fn row(op: &str, dtypes: &str, subject: &str, reference: &str, class: Class, status: Status) -> ResultRow {
    let pass = status == Status::Pass;
    ResultRow {
        op: op.into(),
        dtypes: dtypes.into(),
        subject: subject.into(),
        reference: reference.into(),
        class,
        numerics: None,
        status,
        cases: if status == Status::Unsupported { 0 } else { 64 },
        failed: if status == Status::Fail { 3 } else { 0 },
        max_ulp: pass.then_some(0.0),
        bit_exact: pass && class < Class::Vendor,
        repeatable: (class != Class::Accuracy).then_some(true),
        layouts: vec!["contiguous".into(), "transposed".into()],
        reason: None,
        worst: None,
        repro: None,
    }
}

/// A report with every status, two pairs, several rows in a cell, and text that must be escaped.
fn sample() -> Report {
    use Class::*;
    let mut rows = Vec::new();
    for dtype in ["u8", "f16", "f32"] {
        rows.push(row("add", dtype, "cuda:0", "cpu", Exact, Status::Pass));
    }
    let mut exp = row("exp", "f16", "cuda:0", "cpu", Defined, Status::Fail);
    exp.max_ulp = Some(1.0);
    exp.worst = Some("exp(<0x3c00> = 1) & more: got 2.719, want 2.717".into());
    exp.repro = Some("cargo xtask conformance --replay \"case-17\"".into());
    rows.push(exp);
    rows.push(row("exp", "f32", "cuda:0", "cpu", Defined, Status::Pass));
    let mut cast = row("cast", "f64,f8e4m3", "cuda:0", "cpu", Exact, Status::Unsupported);
    cast.reason = Some("no f8 on this device".into());
    rows.push(cast);
    rows.push(row("cast", "f32,f16", "cuda:0", "cpu", Exact, Status::Pass));
    let mut vendor = row("matmul", "f32", "cuda:0", "cpu", Vendor, Status::Pass);
    vendor.numerics = Some(Numerics::Vendor);
    vendor.max_ulp = Some(12.5);
    let mut portable = row("matmul", "f32", "cuda:0", "cpu", Defined, Status::Pass);
    portable.numerics = Some(Numerics::Portable);
    rows.extend([vendor, portable]);
    let mut expected = row("sum", "f32", "cuda:0", "cpu", Defined, Status::ExpectedFailure);
    expected.reason = Some("listed: order of the last segment".into());
    let mut unexpected = row("sum", "f16", "cuda:0", "cpu", Defined, Status::UnexpectedPass);
    unexpected.reason = Some("listed as failing".into());
    rows.extend([expected, unexpected]);
    let mut accuracy = row("exp", "f32", "cpu", "exact", Accuracy, Status::Pass);
    accuracy.max_ulp = Some(0.941);
    rows.push(accuracy);
    let finding = Finding { kind: "races".into(), device: "sim-cuda".into(), offset: Some(-4), ..Default::default() };
    Report::assemble(
        42,
        64,
        Build { version: "0.1.0".into(), git: "abc".into(), ..Default::default() },
        vec![DeviceRow { id: "cpu".into(), name: "host".into(), warp_size: 1, ..Default::default() }],
        vec![NotRun { id: "rocm:0".into(), reason: "no AMD GPU was found".into() }],
        rows,
        Memory { races: 1, ..Default::default() },
        vec![finding],
        Duration::from_millis(1500),
    )
}

/// The rows of `sample` that pass or are unsupported, without findings.
fn clean() -> Report {
    let s = sample();
    let keep = |r: &ResultRow| matches!(r.status, Status::Pass | Status::Unsupported);
    let rows = s.results.into_iter().filter(keep).collect();
    Report::assemble(42, 64, s.build, s.devices, s.not_run, rows, Memory::default(), Vec::new(), Duration::from_secs(1))
}

/// Returns the violations of the schema's contract in a `report.json`; empty for a report that
/// counts as a pass.
fn violations(report: &Value, need: &[&str]) -> Vec<String> {
    let mut bad = Vec::new();
    let count = |name: &str| report["totals"][name].as_u64().unwrap_or_else(|| panic!("totals lack {name}"));
    if count("executed") == 0 || count("executed") + count("unsupported") != count("declared") {
        bad.push("declared is not executed and unsupported".to_string());
    }
    let parts = ["passed", "failed", "expected_failures", "unexpected_passes"];
    if parts.into_iter().map(count).sum::<u64>() != count("executed") {
        bad.push("executed is not the sum of its parts".to_string());
    }
    if count("failed") + count("unexpected_passes") > 0 {
        bad.push("cells failed".to_string());
    }
    for id in need {
        let device = report["devices"].as_array().expect("devices").iter().find(|d| d["id"] == **id);
        match device {
            None => bad.push(format!("device {id} not run")),
            Some(d) if id.starts_with("sim-") && d["instructions_executed"].as_u64().unwrap_or(0) == 0 => {
                bad.push(format!("{id} executed no instruction"));
            }
            Some(_) => {}
        }
    }
    for x in report["results"].as_array().expect("results") {
        let text = |name: &str| x[name].as_str().unwrap_or_default();
        let cell = format!("{} {} {} vs {}", text("op"), text("dtypes"), text("subject"), text("reference"));
        let (status, class) = (text("status"), text("class"));
        let mut must = |ok: bool, what: &str| {
            if !ok {
                bad.push(format!("{cell}: {what}"));
            }
        };
        must(["pass", "unsupported", "expected_failure"].contains(&status), status);
        must(["moved", "exact", "defined", "vendor", "accuracy"].contains(&class), "class");
        let vendor_op = ["matmul", "conv", "rand"].iter().any(|p| text("op").starts_with(p));
        must(class != "vendor" || vendor_op, "class vendor");
        let reasoned = !["unsupported", "expected_failure"].contains(&status) || !text("reason").is_empty();
        must(reasoned, "no reason");
        if status == "pass" {
            let bits = ["moved", "exact", "defined"].contains(&class);
            must(!bits || x["bit_exact"] == true, "not bit exact");
            must(x["repeatable"] != false, "not repeatable");
            must(class == "accuracy" || x["cases"].as_u64() >= Some(32), "too few cases");
        }
    }
    for (kind, count) in report["memory"].as_object().expect("memory") {
        if count.as_u64() != Some(0) {
            bad.push(format!("memory {kind}"));
        }
    }
    bad
}

fn json(report: &Report) -> Value {
    serde_json::to_value(report).expect("a report serialises")
}

#[test]
fn totals_count_cells() {
    let t = sample().totals;
    assert_eq!((t.declared, t.executed, t.passed, t.failed), (12, 11, 8, 1));
    assert_eq!((t.unsupported, t.expected_failures, t.unexpected_passes), (1, 1, 1));
}

#[test]
fn a_clean_report_satisfies_the_contract() {
    assert_eq!(violations(&json(&clean()), &["cpu"]), Vec::<String>::new());
    assert!(clean().passed());
}

#[test]
fn each_breach_of_the_contract_is_seen() {
    let bad = violations(&json(&sample()), &["cpu", "cuda:0"]);
    for what in
        ["cells failed", "device cuda:0 not run", "exp f16 cuda:0 vs cpu: fail", "unexpected_pass", "memory races"]
    {
        assert!(bad.iter().any(|b| b.contains(what)), "{what} is not in {bad:?}");
    }
    assert!(!sample().passed());
    // No count includes a trap.
    let mut trapped = clean();
    trapped.findings.push(Finding { kind: "fault".into(), device: "sim-cuda".into(), ..Default::default() });
    assert!(!trapped.passed());
    let mut inexact = clean();
    inexact.results[0].bit_exact = false;
    assert!(violations(&json(&inexact), &[])[0].contains("not bit exact"));
    let empty =
        Report::assemble(0, 0, Build::default(), vec![], vec![], vec![], Memory::default(), vec![], Duration::ZERO);
    assert!(!empty.passed() && !violations(&json(&empty), &[]).is_empty());
}

#[test]
fn the_schema_is_the_documented_one() {
    let value = json(&sample());
    let keys = |v: &Value| v.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let sorted = |s: &str| {
        let mut names: Vec<_> = s.split(' ').map(String::from).collect();
        names.sort();
        names
    };
    let expect = |v: &Value, names: &str| {
        let mut found = keys(v);
        found.sort();
        assert_eq!(found, sorted(names));
    };
    expect(&value, "schema seed cases build devices not_run results memory findings totals duration_s");
    expect(&value["build"], "version git rustc kernel_compiler kernel_flags numerics_version");
    expect(
        &value["devices"][0],
        "id driver name arch simulated warp_size memory_bytes driver_version instructions_executed",
    );
    expect(&value["not_run"][0], "id reason");
    expect(
        &value["results"][0],
        "op dtypes subject reference class numerics status cases failed max_ulp bit_exact repeatable layouts reason worst repro",
    );
    expect(&value["memory"], "out_of_bounds uninitialised_reads races misaligned divergent_barriers unwritten");
    expect(&value["findings"][0], "kind device kernel instruction thread buffer offset op repro");
    expect(&value["totals"], "declared executed passed failed unsupported expected_failures unexpected_passes");
    assert_eq!(value["schema"], 1);
    assert_eq!(value["results"][3]["status"], "fail");
    assert_eq!(value["results"][7]["class"], "vendor");
    assert_eq!(value["results"][7]["numerics"], "vendor");
    let back: Report = serde_json::from_value(value).expect("it reads back");
    assert_eq!(back, sample());
}

#[test]
fn the_matrix_places_rows_by_pair_operation_and_dtype() {
    let report = sample();
    let matrix = Matrix::of(&report);
    assert_eq!(matrix.columns, ["u8", "f8e4m3", "f16", "f32"]);
    assert_eq!(
        matrix.pairs.iter().map(|p| (p.subject, p.reference)).collect::<Vec<_>>(),
        [("cuda:0", "cpu"), ("cpu", "exact")]
    );
    let pair = &matrix.pairs[0];
    let lines: Vec<_> = pair.lines.iter().map(|l| (l.op, l.beside)).collect();
    assert_eq!(lines, [("cast", "f32"), ("cast", "f64"), ("exp", ""), ("add", ""), ("sum", ""), ("matmul", "")]);
    let states = |line: usize| pair.lines[line].cells.iter().map(|c| c.state).collect::<Vec<_>>();
    use State::*;
    assert_eq!(states(1), [Undefined, Unsupported, Undefined, Undefined]);
    assert_eq!(states(2), [Undefined, Undefined, Fail, Exact]);
    // Two rows, vendor and portable: the place shows the weaker state.
    assert_eq!((states(5)[3], pair.lines[5].cells[3].rows.len()), (Bound, 2));
    // exp of f16 ran only in the other pair.
    assert_eq!(matrix.pairs[1].lines[0].cells[2].state, NotRun);
    assert_eq!((pair.count(Exact), pair.count(Fail), matrix.pairs[1].count(NotRun)), (6, 1, 1));
}

#[test]
fn the_column_is_the_dtype_of_the_values() {
    let names = [("gather", "f32,u8"), ("where_cond", "u8,f32"), ("cast", "u8,f32")];
    let rows = names.map(|(op, dtypes)| row(op, dtypes, "cuda:0", "cpu", Class::Moved, Status::Pass)).to_vec();
    let report = Report { results: rows, ..sample() };
    let matrix = Matrix::of(&report);
    assert_eq!(matrix.columns, ["f32"]);
    let lines: Vec<_> = matrix.pairs[0].lines.iter().map(|l| (l.op, l.beside, l.cells[0].state)).collect();
    let exact = |op| (op, "u8", State::Exact);
    assert_eq!(lines, [exact("cast"), exact("where_cond"), exact("gather")]);
}

#[test]
fn the_merged_table_has_the_worst_of_all_pairs() {
    let report = sample();
    let matrix = Matrix::of(&report);
    let merged = Merged::of(&matrix);
    assert_eq!(merged.columns, matrix.columns);
    let names: Vec<_> = merged.families.iter().map(|f| f.name).collect();
    assert_eq!(names, ["cast", "unary", "binary", "reduce", "matmul"]);
    let texts = |family: usize| merged.families[family].tallies.iter().map(Tally::text).collect::<Vec<_>>();
    assert_eq!(texts(0), ["", "1 –", "1 ✓", ""]);
    // exp of f32 is exact on the device; the reference's accuracy within its bound changes nothing.
    assert_eq!(texts(1), ["", "", "1 ✗", "1 ✓"]);
    assert_eq!(texts(3), ["", "", "1 ?", "1 !"]);
    let mut inaccurate = sample();
    inaccurate.results.push(row("exp", "f32", "cpu", "exact", Class::Accuracy, Status::Fail));
    let matrix = Matrix::of(&inaccurate);
    assert_eq!(Merged::of(&matrix).families[1].tallies[3].text(), "1 ✗");

    // Another operation, which one device refuses and another supports; then the same one failing
    // on a third device.
    let mut report = sample();
    let mut add = |op, subject, status| report.results.push(row(op, "u8", subject, "cpu", Class::Exact, status));
    add("sub", "cuda:0", Status::Pass);
    add("sub", "rocm:0", Status::Unsupported);
    let tally = |report: &Report| Merged::of(&Matrix::of(report)).families[2].tallies[0];
    assert_eq!(tally(&report), Tally { state: State::Exact, count: 2, worst: 2, unsupported: 1 });
    assert_eq!(
        (tally(&report).text(), tally(&report).words()),
        ("1/2✓".into(), "2 bit-exact, 1 not supported by every device".into())
    );
    report.results.push(row("sub", "u8", "cuda:1", "cpu", Class::Exact, Status::Fail));
    assert_eq!((tally(&report).text(), tally(&report).worst), ("1/2✗".into(), 1));
}

#[test]
fn every_operation_has_a_family() {
    let named = ["const_set", "copy2d", "cast", "clamp", "exp", "pow", "ge", "where_cond", "argmax", "matmul"];
    let families = ["fill", "copy", "cast", "affine", "unary", "binary", "compare", "select", "reduce", "matmul"];
    assert_eq!(named.map(family), families);
    assert_eq!(["powf", "elu", "add_gelu", "rms_norm"].map(family), ["affine", "affine", "bias_activation", "norm"]);
    assert!(isobit_conformance::cells::Operation::all().all(|operation| family(operation.name()) != "other"));
    assert_eq!(family("from_elsewhere"), "other");
}

#[cfg(feature = "cli")]
mod forms {
    use super::*;
    use isobit_conformance::cells::Cell;
    use isobit_conformance::report::terminal::{View, terminal};
    use isobit_conformance::report::{html, junit, write};

    #[test]
    fn the_page_is_self_contained_and_escaped() {
        let page = html(&sample());
        assert!(page.contains("exp(&lt;0x3c00&gt; = 1) &amp; more"), "values are escaped");
        assert!(!page.contains("<0x3c00>"));
        for forbidden in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(forbidden), "the page refers to something outside itself: {forbidden}");
        }
        for shown in
            ["2 of 11 cells fail", "no AMD GPU was found", "no f8 on this device", "case-17", "seed", "12.50", "0.94"]
        {
            assert!(page.contains(shown), "{shown} is not on the page");
        }
        // Each executed or unsupported place opens its details without a script. Those of `add` and
        // of a cast are the same.
        let opened: Vec<&str> =
            page.split("popovertarget=").skip(1).filter_map(|after| after.split('>').next()).collect();
        assert_eq!((opened.len(), page.matches("<div popover id=").count()), (11, 8));
        assert!(opened.iter().all(|id| page.contains(&format!("<div popover id={id}>"))), "{opened:?}");
        assert!(html(&clean()).contains("All 8 cells pass"));
    }

    #[test]
    fn junit_counts_failures_and_skips() {
        let xml = junit(&sample()).expect("it writes");
        // 12 cells, a device that did not run, six memory checks; exp, the unexpected pass and the
        // races fail.
        assert!(
            xml.contains(r#"<testsuites name="isobit conformance" tests="19" skipped="3" failures="3" errors="0""#),
            "{xml}"
        );
        assert_eq!(xml.matches("<skipped").count(), 3);
        assert!(xml.contains("no AMD GPU was found") && xml.contains("exp(&lt;0x3c00&gt;"));
    }

    #[test]
    fn the_terminal_says_what_failed_and_how_to_repeat_it() {
        let text = terminal(&sample(), None, View::default());
        assert!(!text.contains('\x1b'), "colour was not asked for");
        for shown in [
            "cuda:0 vs cpu",
            "✗ exp f16",
            "cargo xtask conformance --replay \"case-17\"",
            "FAILED  11 of 12 cells executed: 8 passed, 1 failed, 1 passed unexpectedly, 1 expected to fail, 1 unsupported, 1 races; 1 finding",
            "rocm:0: no AMD GPU was found",
        ] {
            assert!(text.contains(shown), "{shown} is not in\n{text}");
        }
        let unary =
            |text: &str| text.lines().find(|l| l.starts_with("unary")).expect("a line for the family").to_string();
        let (merged, pair) = text.split_once("cuda:0 vs cpu").expect("the pair's own table");
        assert!(unary(merged).contains("1 ✗") && unary(merged).contains("1 ✓"), "{merged}");
        assert!(unary(pair).contains("1 ✗") && unary(pair).contains("1 ✓"), "{pair}");
        let colored = View { color: true, ..View::default() };
        assert!(terminal(&sample(), None, colored).contains("\x1b["));
        assert!(terminal(&clean(), None, View::default()).contains("\npassed  8 of 9 cells executed"));
    }

    #[test]
    fn the_table_of_a_pair_is_shown_where_it_fails_or_on_request() {
        let verbose = View { verbose: true, ..View::default() };
        let brief = terminal(&sample(), None, View::default());
        assert!(brief.contains("\ncuda:0 vs cpu\n") && !brief.contains("\ncpu vs exact\n"), "{brief}");
        let pair = brief.split_once("\ncuda:0 vs cpu\n").expect("the pair").1;
        // By default the pair shows only failing families; with --verbose also the rest.
        assert!(pair.contains("\nreduce ") && !pair.contains("\nbinary "), "{pair}");
        let all = terminal(&sample(), None, verbose);
        let pair = all.split_once("\ncuda:0 vs cpu\n").expect("the pair").1;
        assert!(pair.contains("\nbinary ") && pair.contains("\ncpu vs exact\n"), "{pair}");
        let passed = terminal(&clean(), None, View::default());
        assert!(!passed.contains(" vs "), "{passed}");
        assert!(passed.contains("– unsupported  cuda:0, cast f64,f8e4m3: no f8 on this device"), "{passed}");
    }

    #[test]
    fn a_report_of_every_cell_fits_a_screen() {
        let pairs = [("cpu", "cpu"), ("sim-cuda", "cpu"), ("sim-rocm:gfx90a", "cpu"), ("sim-rocm:gfx90a", "sim-cuda")];
        let of = |(subject, reference): (&str, &str)| {
            let cell = |c: &Cell| row(c.operation.name(), &c.label(), subject, reference, c.class(), Status::Pass);
            Cell::all().iter().map(cell).collect::<Vec<_>>()
        };
        let rows: Vec<ResultRow> = pairs.into_iter().flat_map(of).collect();
        let mut report = Report { results: rows, ..clean() };
        let lines =
            |report: &Report| terminal(report, None, View::default()).lines().map(String::from).collect::<Vec<_>>();
        let shown = lines(&report);
        assert!((24..=40).contains(&shown.len()), "{} lines", shown.len());
        let width = shown.iter().map(|l| l.chars().count()).max().expect("lines");
        assert!(width <= 110, "{width} columns");
        report.not_run[0].reason = "a library was looked for in many places ".repeat(20);
        let view = |verbose| terminal(&report, None, View { verbose, ..View::default() });
        assert!(view(true).contains(&report.not_run[0].reason) && !view(false).contains(&report.not_run[0].reason));
        assert!(view(false).lines().any(|l| l.starts_with("not run  rocm:0: a library") && l.len() < 250));
        // A fault that shows everywhere is listed in part by default, and completely with
        // --verbose.
        report.results.iter_mut().filter(|r| r.subject == "sim-cuda").for_each(|r| r.status = Status::Fail);
        let told = |lines: &[String]| lines.iter().filter(|l| l.starts_with("✗ ")).count();
        let brief = lines(&report);
        assert_eq!(told(&brief), 10);
        assert!(
            brief
                .iter()
                .any(|l| l
                    == &format!("  and {} more failures, in the files and with --verbose", Cell::all().len() - 10))
        );
        let verbose = terminal(&report, None, View { verbose: true, ..View::default() });
        assert_eq!(told(&verbose.lines().map(String::from).collect::<Vec<_>>()), Cell::all().len());
    }

    #[test]
    fn the_page_begins_with_all_pairs() {
        let page = html(&sample());
        let all = page.find("<section id=\"all\"").expect("the merged table");
        assert!(all < page.find("class=\"pair\"").expect("a pair"));
        let merged = &page[all..page[all..].find("</section>").expect("its end") + all];
        assert!(merged.contains("title=\"unary f16: 1 of 1 fail\">1 ✗</b>"), "{merged}");
        assert!(merged.contains("the worst of the 2 pairs"), "{merged}");
    }

    #[test]
    fn files_are_written_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let written = write(&sample(), &dir.path().join("a/b")).expect("it writes");
        let text = std::fs::read_to_string(&written.json).expect("it is there");
        assert_eq!(serde_json::from_str::<Report>(&text).expect("it parses"), sample());
        assert!(written.html.exists() && written.junit.exists());
        assert_eq!(std::fs::read_dir(dir.path().join("a/b")).expect("it lists").count(), 3);
    }
}

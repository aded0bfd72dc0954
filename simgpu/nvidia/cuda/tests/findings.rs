//! What becomes of findings: by default an invalid access loses its context as on a card, and what
//! a card does not show stays a finding. Each test runs in processes of its own, because the
//! settings belong to the process.

mod common;

use common::child::{self, Said};
use common::{Buffer, Code, Handle, NULL, context, get, kernel, kinds, load, ok, pointer};
use isobit_simgpu_core::finding::report::Report;
use isobit_simgpu_cuda::context::*;
use isobit_simgpu_cuda::copy::*;
use isobit_simgpu_cuda::event::*;
use isobit_simgpu_cuda::launch::cuLaunchKernel;
use isobit_simgpu_cuda::memory::*;
use isobit_simgpu_cuda::primary::*;
use isobit_simgpu_cuda::set::cuMemsetD8Async;
use isobit_simgpu_cuda::stream::*;
use std::ffi::CStr;
use std::path::Path;
use std::ptr::null_mut;

/// `poke` stores a word at an address, `peek` loads one, `poke_shared` stores one at an offset in
/// 300 bytes of shared memory; the blocks of `race` store different words at an address.
const SOURCE: &str = include_str!("findings.ptx");

struct Kernels(Handle);

impl Kernels {
    fn new() -> Self {
        Self(load(SOURCE))
    }

    fn launch<T>(&self, name: &CStr, blocks: u32, mut argument: T, stream: Handle) -> Code {
        let mut params = [pointer(&mut argument)];
        // SAFETY: the arguments are the kernel's.
        unsafe {
            cuLaunchKernel(kernel(self.0, name), blocks, 1, 1, 1, 1, 1, 0, stream, params.as_mut_ptr(), null_mut())
        }
    }
}

/// An address that no allocation is near.
fn wild(buffer: &Buffer) -> u64 {
    buffer.at(64 << 20)
}

#[test]
fn an_invalid_access_loses_the_context() {
    if !child::inside("an_invalid_access_loses_the_context") {
        let said = child::run("an_invalid_access_loses_the_context", &[]).passes().error;
        assert!(said.contains("simulated GPU: the launch of poke failed: "), "the cause is told at once: {said}");
        return;
    }
    let other = context(1);
    let primary = context(0);
    // SAFETY: pointers of the helper and to locals.
    unsafe {
        let (kernels, there) = (Kernels::new(), Buffer::new(400));
        let poke = kernel(kernels.0, c"poke");
        let [stream, second] = [(); 2].map(|()| get(|to| cuStreamCreate(to, 1)));
        let event = get(|to| cuEventCreate(to, 2));
        // As on a card, a byte in the rounding of an allocation exists; a finding tells of it.
        ok(kernels.launch(c"poke", 1, there.at(400), stream));
        ok(kernels.launch(c"poke", 1, there.at(508), stream));
        ok(kernels.launch(c"race", 2, there.0, stream));
        ok(kernels.launch(c"peek", 1, there.at(40), stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(kinds(), ["out_of_bounds", "out_of_bounds", "race", "uninitialised_read"]);

        ok(kernels.launch(c"poke", 1, wild(&there), stream));
        // Later work of the stream is accepted, and not done.
        ok(cuMemsetD8Async(there.0, 7, 4, stream));
        ok(kernels.launch(c"poke", 1, there.0, second));
        ok(cuEventRecord(event, stream));
        let again = [
            cuEventSynchronize(event),
            cuEventQuery(event),
            cuStreamSynchronize(second),
            cuStreamQuery(stream),
            cuCtxSynchronize(),
            cuMemAlloc_v2(&mut 0, 4),
            cuMemFree_v2(there.0),
            cuMemcpyDtoH_v2(pointer(&mut 0u32), there.0, 4),
            cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut()),
        ];
        assert_eq!(again, [Code::ILLEGAL_ADDRESS; 9]);
        assert_eq!(kinds(), ["out_of_bounds"], "one finding, and none for the launch that it failed");
        // Device addresses are host addresses.
        assert_eq!((there.0 as *const u8).read(), 1, "the last word of the race, not the set's");

        // The context of the other card goes on; a reset recovers.
        ok(cuCtxSetCurrent(other));
        let elsewhere = Buffer::of(&[5; 16]);
        assert_eq!(common::download(elsewhere.0, 16), [5; 16]);
        std::mem::forget(there);
        ok(cuDevicePrimaryCtxReset_v2(0));
        assert_eq!(context(0), primary);
        assert_eq!(common::download(Buffer::of(&[6; 16]).0, 16), [6; 16]);

        // Each in a context of its own, whose destruction recovers.
        let freed = Buffer::new(256).0;
        let cases: [(&CStr, u64, Code, &str); 5] = [
            (c"poke", freed, Code::ILLEGAL_ADDRESS, "out_of_bounds"),
            (c"peek", freed, Code::ILLEGAL_ADDRESS, "out_of_bounds"),
            (c"poke", Buffer::new(256).0 - 4, Code::ILLEGAL_ADDRESS, "out_of_bounds"),
            (c"poke_shared", 512, Code::ILLEGAL_ADDRESS, "out_of_bounds"),
            (c"poke_shared", 2, Code::MISALIGNED_ADDRESS, "misaligned"),
        ];
        for (name, argument, code, kind) in cases {
            let created = get(|to| cuCtxCreate_v2(to, 0, 0));
            let kernels = Kernels::new();
            // 300 bytes of shared memory are rounded up to 512.
            ok(kernels.launch(c"poke_shared", 1, 300u64, NULL));
            ok(cuCtxSynchronize());
            assert_eq!(kinds(), ["out_of_bounds"]);
            ok(kernels.launch(name, 1, argument, NULL));
            assert_eq!([cuStreamSynchronize(NULL), cuMemAlloc_v2(&mut 0, 4)], [code; 2], "{name:?} {argument:#x}");
            assert_eq!(kinds(), [kind], "{name:?}");
            ok(cuCtxDestroy_v2(created));
        }
        ok(cuCtxSynchronize());
    }
}

#[test]
fn recorded_accesses_are_no_errors() {
    if !child::inside("recorded_accesses_are_no_errors") {
        child::run("recorded_accesses_are_no_errors", &[("ISOBIT_SIM_FINDINGS", "record")]).passes();
        return;
    }
    context(0);
    let (kernels, there) = (Kernels::new(), Buffer::of(&[9; 4]));
    ok(kernels.launch(c"poke", 1, wild(&there), NULL));
    ok(kernels.launch(c"poke_shared", 1, 2u64, NULL));
    ok(cuCtxSynchronize());
    assert_eq!(kinds(), ["out_of_bounds", "misaligned"]);
    ok(kernels.launch(c"poke", 1, there.0, NULL));
    assert_eq!(common::numbers(there.0, 1), [1]);
}

/// The program of the tests below: a race of two words, a wild store, and a call that it fails.
fn two_findings() {
    context(0);
    let (kernels, there) = (Kernels::new(), Buffer::new(4));
    ok(kernels.launch(c"race", 2, there.0, NULL));
    ok(kernels.launch(c"poke", 1, wild(&there), NULL));
    eprintln!("status {}", cuCtxSynchronize().0);
    std::mem::forget(there);
}

#[test]
fn the_first_finding_aborts() {
    if child::inside("the_first_finding_aborts") {
        return two_findings();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("found.json");
    let variables = [("ISOBIT_SIM_FINDINGS", "abort"), ("ISOBIT_SIM_REPORT", path.to_str().unwrap())];
    let said = child::run("the_first_finding_aborts", &variables).aborts().error;
    assert!(said.contains("simulated GPU: race: race: ") && !said.contains("status"), "{said}");
    assert!(said.contains("ISOBIT_SIM_FINDINGS=abort"), "{said}");
    assert_eq!(report(&path).findings.len(), 1, "the file has the finding although no exit handler ran");
}

fn report(path: &Path) -> Report {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_file_is_written_whichever_way_the_process_ends() {
    if child::inside("the_file_is_written_whichever_way_the_process_ends") {
        two_findings();
        if std::env::var_os("ISOBIT_SIM_TEST_EXIT").is_some() {
            // SAFETY: it ends the process.
            unsafe { libc::_exit(3) };
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, exits) in [("a.txt", true), ("b.json", true), ("c.sarif", true), ("d.txt", false), ("e.json", false)] {
        let path = folder.path().join(name);
        let mut variables = vec![("ISOBIT_SIM_REPORT", path.to_str().unwrap())];
        variables.extend(exits.then_some(("ISOBIT_SIM_TEST_EXIT", "1")));
        let Said { status, error: said, .. } =
            child::run("the_file_is_written_whichever_way_the_process_ends", &variables);
        assert_eq!(status.code(), Some(if exits { 3 } else { 0 }), "{said}");
        assert!(said.contains("status 700"), "{said}");
        let text = std::fs::read_to_string(&path).unwrap();
        match name.rsplit_once('.').unwrap().1 {
            "txt" => assert!(text.contains("race: race: ") && text.contains("poke: out of bounds: "), "{text}"),
            "json" => assert_eq!(report(&path).counts.to_string(), "2 findings: 1 x out of bounds, 1 x race"),
            _ => {
                let log: serde_json::Value = serde_json::from_str(&text).unwrap();
                let results = log["runs"][0]["results"].as_array().unwrap();
                let place = &results[1]["locations"][0]["physicalLocation"];
                assert_eq!(results.len(), 2);
                assert_eq!(place["artifactLocation"]["uri"], "poke.cu", "the PTX names the line: {log:#}");
                assert_eq!(place["region"]["startLine"], 12);
            }
        }
        // One loud line at the end, unless the process skips its exit handlers.
        let end = format!("simulated GPU: 2 findings: 1 x out of bounds, 1 x race; they are in {}", path.display());
        assert_eq!(said.lines().last() == Some(&*end), !exits, "{said}");
    }
    // Without a file, the findings themselves come before that line.
    let said = child::run("the_file_is_written_whichever_way_the_process_ends", &[]).passes().error;
    let lines: Vec<&str> = said.lines().rev().take(3).collect();
    assert_eq!(lines[0], "simulated GPU: 2 findings: 1 x out of bounds, 1 x race");
    assert!(lines[1].starts_with("simulated GPU: poke: out of bounds: "), "{said}");
    assert!(lines[2].starts_with("simulated GPU: race: race: "), "{said}");
}

#[test]
fn suppressed_findings_are_not_told_and_a_suppressed_access_still_fails() {
    if child::inside("suppressed_findings_are_not_told_and_a_suppressed_access_still_fails") {
        return two_findings();
    }
    let folder = tempfile::tempdir().unwrap();
    let (known, path) = (folder.path().join("known.txt"), folder.path().join("found.json"));
    std::fs::write(&known, "# known\nrace:race; buffer=allocation * of 4 bytes\n*:poke\nraces:poke\nrace:never\n")
        .unwrap();
    let variables =
        [("ISOBIT_SIM_SUPPRESSIONS", known.to_str().unwrap()), ("ISOBIT_SIM_REPORT", path.to_str().unwrap())];
    let said =
        child::run("suppressed_findings_are_not_told_and_a_suppressed_access_still_fails", &variables).passes().error;
    assert!(said.contains("status 700"), "{said}");
    assert!(said.contains(&format!("{}:4: \"races\" is not a kind", known.display())), "{said}");
    assert!(said.contains("simulated GPU: suppressed 1 by line 2: race:race") && !said.contains("findings:"), "{said}");
    let uses: Vec<_> = report(&path).suppressions.into_iter().map(|used| (used.line, used.count)).collect();
    assert_eq!(uses, [(2, 1), (3, 1), (5, 0)]);
    assert_eq!(report(&path).findings, []);
}

/// A program that writes more to its buffered output than a pipe holds at once, and lets findings
/// happen in between; part of the output is still in the buffer when it ends.
#[test]
fn no_output_of_a_program_is_lost() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/findings.py");
    let library = std::env::current_exe().unwrap().with_file_name("libisobit_simgpu_cuda.so");
    assert!(library.exists(), "cargo builds {} with the tests", library.display());
    let Ok(Said { status, out, error: said }) = child::finish(child::command("python3").arg(script).arg(&library))
    else {
        assert!(std::env::var_os("CI").is_none(), "there is no python3");
        return eprintln!("skipped: there is no python3; `apt-get install python3` installs it");
    };
    assert_eq!(status.code(), Some(5), "the code is the program's own: {said}");
    let lines: Vec<&str> = out.lines().collect();
    let expected: Vec<String> = (0..20_000).map(|i| format!("line {i}")).chain(["status 700".into()]).collect();
    assert!(lines == expected, "{} lines, the last {:?}\n{said}", lines.len(), lines.last());
    assert!(said.ends_with("simulated GPU: 1 finding: 1 x out of bounds\n"), "{said}");
}

//! Runs the program on simulated GPUs of both vendors and compares the bits with the CPU's.
#![cfg(all(feature = "cuda", feature = "rocm"))]

#[path = "../../common/testing/program.rs"]
mod simulated;

use simulated::text;
use std::process::Output;

fn program(arguments: &[&str]) -> Output {
    simulated::run(env!("CARGO_BIN_EXE_isobit-llama"), arguments)
}

/// Returns the report that the program writes for the tiny model.
fn report(device: &str, arguments: &[&str]) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let common = ["--size", "tiny", "--prompt", "9", "--tokens", "3", "--device", device, "--json"];
    let output = program(&[&common[..], &[file.to_str().unwrap()], arguments].concat());
    assert!(output.status.success(), "{device}: {}", text(&output.stderr));
    // A simulator prints its findings to stderr.
    assert_eq!(text(&output.stderr), "", "{device}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(report["device"], device);
    let prompts = report["prompts"].as_u64().unwrap() as usize;
    assert_eq!(report["tokens"].as_array().unwrap().len(), prompts * 4);
    assert!(text(&output.stdout).contains(report["digest"].as_str().unwrap()), "{}", text(&output.stdout));
    report
}

#[test]
fn the_host_and_simulated_gpus_give_the_same_bits() {
    let mut digests = Vec::new();
    for (numerics, dtype, devices) in [
        ("portable", "f32", &["sim-rocm:gfx90a", "sim-cuda"][..]),
        ("block", "bf16", &["sim-rocm:gfx90a", "sim-cuda"]),
        ("portable", "f16", &["sim-cuda"]),
    ] {
        let arguments = ["--numerics", numerics, "--dtype", dtype];
        let host = report("cpu", &arguments);
        for device in devices {
            let found = report(device, &arguments);
            assert_eq!(
                ["tokens", "digest"].map(|key| &found[key]),
                ["tokens", "digest"].map(|key| &host[key]),
                "{device}"
            );
        }
        let digest = host["digest"].to_string();
        assert!(!digests.contains(&digest), "{numerics}, {dtype}: the digest of other numerics");
        digests.push(digest);
    }
}

#[test]
fn ranks_on_simulated_gpus_give_the_same_bits() {
    for (numerics, dtype, devices) in [
        // A rank on each vendor's card, whose drivers share no memory.
        ("portable", "f32", &["sim-cuda,sim-cuda", "sim-cuda,sim-rocm:gfx90a"][..]),
        ("block", "bf16", &["sim-rocm:gfx90a,sim-rocm:gfx90a"]),
    ] {
        let arguments = ["--numerics", numerics, "--dtype", dtype];
        let host = report("cpu", &arguments);
        for device in devices {
            assert_eq!(report(device, &arguments)["digest"], host["digest"], "{device}, {numerics}, {dtype}");
        }
    }
}

#[test]
fn ranks_with_a_model_each_share_the_prompts() {
    let prompts = |device, more: &[&str]| report(device, &[&["--prompts", "2"], more].concat());
    let host = prompts("cpu", &[]);
    for device in ["cpu,cpu", "sim-cuda,sim-cuda"] {
        let found = prompts(device, &["--data-parallel"]);
        assert_eq!(["tokens", "digest"].map(|key| &found[key]), ["tokens", "digest"].map(|key| &host[key]), "{device}");
    }
}

#[test]
fn a_benchmark_replays_the_same_as_a_graph() {
    let (once, many) = (report("cpu", &[]), report("sim-cuda", &["--bench"]));
    assert_eq!(many["digest"], once["digest"]);
    assert!(many["timing"]["graph_ms"].as_f64().unwrap() > 0.0 && once["timing"]["graph_ms"].is_null());
}

#[test]
fn what_cannot_be_run_says_so() {
    for (arguments, says) in [
        (["--device", "cuda:x"], "`x` is not a device number"),
        (["--device", "tpu:0"], "examples are cpu, cuda:0, rocm:0, sim-cuda and sim-rocm"),
        (["--device", "cpu:1"], "device cpu:1"),
        (["--device", "sim-rocm:gfx000"], "there is no card gfx000, there are gfx90a"),
        (["--device", "cuda:0,sim-cuda"], "sim-cuda replaces the library of cuda:0"),
        (["--device", "cpu,cpu,cpu"], "3 ranks cannot share 32 heads evenly"),
        (["--device", "cpu,tpu:0"], "device tpu:0"),
        (["--layers", "0"], "0 layers"),
        (["--layers", "17"], "the model has 16"),
        (["--prompt", "0"], "a prompt of 0 tokens"),
        (["--prompt", "131072"], "at most 131072"),
        (["--tokens", "0"], "0 tokens after the prompt"),
    ] {
        let output = program(&arguments);
        let told = text(&output.stderr);
        assert!(!output.status.success() && told.contains(says), "{arguments:?}: {told}");
    }
}

//! Runs the program on simulated GPUs of both vendors and compares the bits with the CPU's.
#![cfg(all(feature = "cuda", feature = "rocm"))]

mod common;
#[path = "../../common/testing/program.rs"]
mod simulated;

use simulated::text;
use std::process::Output;

fn program(arguments: &[&str]) -> Output {
    simulated::run(env!("CARGO_BIN_EXE_isobit-embed"), arguments)
}

/// Returns the embeddings that the program writes for two sentences of different length, as text
/// with every bit, and the digest that it prints.
fn embeddings(device: &str, arguments: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let all = [&["--device", device, "--json", file.to_str().unwrap()], arguments].concat();
    let output = program(&[&all[..], &["Tensors, everywhere!", "Bits."]].concat());
    assert!(output.status.success(), "{device}: {}", text(&output.stderr));
    // A simulator prints its findings to stderr.
    assert_eq!(text(&output.stderr), "", "{device}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(report["device"], device);
    let sentences = report["sentences"].as_array().unwrap();
    assert_eq!(
        sentences.iter().map(|s| s["text"].as_str().unwrap()).collect::<Vec<_>>(),
        ["Tensors, everywhere!", "Bits."]
    );
    let digest = report["digest"].as_str().unwrap().to_string();
    assert!(text(&output.stdout).contains(&digest), "{}", text(&output.stdout));
    (sentences.iter().map(|s| s["embedding"].to_string()).collect(), digest)
}

#[test]
fn the_host_and_simulated_gpus_give_the_same_bits() {
    if common::model().is_none() {
        return;
    }
    let all = &["sim-rocm:gfx90a", "sim-rocm:gfx1100", "sim-cuda"][..];
    let mut digests = Vec::new();
    for (numerics, dtype, devices) in [
        ("portable", "f32", all),
        ("portable", "f16", &["sim-cuda"]),
        ("block", "f32", all),
        ("block", "f16", &["sim-cuda"]),
        ("block", "bf16", &["sim-rocm:gfx90a"]),
    ] {
        let arguments = ["--numerics", numerics, "--dtype", dtype];
        let host = embeddings("cpu", &arguments);
        for device in devices {
            assert_eq!(embeddings(device, &arguments), host, "{device}, {numerics}, {dtype}");
        }
        assert!(!digests.contains(&host.1), "{numerics}, {dtype}: the digest of other numerics");
        digests.push(host.1);
    }
}

#[test]
fn a_vendors_library_gives_nearly_the_same() {
    if common::model().is_none() {
        return;
    }
    let parse = |(text, _): (String, String)| -> Vec<f32> {
        let first = text.split_inclusive(']').next().unwrap();
        serde_json::from_str(first).unwrap()
    };
    let host = parse(embeddings("cpu", &[]));
    for device in ["sim-rocm:gfx90a", "sim-cuda"] {
        let cosine = isobit_embed::output::cosine(&host, &parse(embeddings(device, &["--numerics", "vendor"])));
        assert!(cosine >= 1.0 - 1e-9, "{device}: {cosine}");
    }
}

#[test]
fn what_cannot_be_run_says_so() {
    if common::model().is_none() {
        return;
    }
    for (device, says) in [
        ("cuda:x", "`x` is not a device number"),
        ("tpu:0", "examples are cpu, cuda:0, rocm:0, sim-cuda and sim-rocm"),
        ("cpu:1", "device cpu:1"),
        ("sim-rocm:gfx000", "there is no card gfx000, there are gfx90a"),
    ] {
        let output = program(&["--device", device, "Bits."]);
        let told = text(&output.stderr);
        assert!(!output.status.success() && told.contains(says), "{device}: {told}");
    }
    let output = program(&["--model", "/nowhere", "Bits."]);
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("cargo xtask model"), "{told}");
}

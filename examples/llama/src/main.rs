//! `cargo run --release -p isobit-llama --features cuda,rocm -- --device cuda:0 --bench`: continues
//! a prompt and prints how fast.

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use isobit::{BackendDevice, DType, Numerics};
use isobit_examples::choice::{Held, Who, exit_code, open};
use isobit_examples::output::{digest, write};
use isobit_examples::simulated::{self, Device};
use isobit_llama::{Config, Model, Ranks, Timing, generate, weights};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Reads a prompt with Llama 3.2 1B of random weights, makes tokens after it, and prints the tokens
/// per second of both phases and a digest of what it computed.
#[derive(Parser, Debug)]
struct Args {
    /// The device, such as cpu, cuda:0, rocm:0, sim-cuda or sim-rocm:gfx90a.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// The implementation of matrix products and of attention.
    #[arg(long, value_enum, default_value_t = Who::Portable)]
    numerics: Who,
    /// The dtype of weights and intermediate results.
    #[arg(long, value_enum, default_value_t = Held::Bf16)]
    dtype: Held,
    /// The sizes of the model.
    #[arg(long, value_enum, default_value_t = Size::Llama1b)]
    size: Size,
    /// Number of layers, if not all; the width stays.
    #[arg(long)]
    layers: Option<usize>,
    /// Tokens of the prompt.
    #[arg(long, default_value_t = 512)]
    prompt: usize,
    /// Tokens to make after the one that follows the prompt.
    #[arg(long, default_value_t = 64)]
    tokens: usize,
    /// Selects the weights.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Continues the prompt several times and prints medians, also of a graph. Without it, the
    /// times include the loading of kernels.
    #[arg(long)]
    bench: bool,
    /// Writes the tokens and the times to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// The sizes of a model.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Size {
    /// Llama 3.2 1B.
    #[value(name = "1b")]
    Llama1b,
    /// A hundred thousand weights, for tests.
    Tiny,
}

/// The content of the file that `--json` names.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// The device name from the command line.
    device: &'a str,
    /// The name that the device reports.
    device_name: &'a str,
    dtype: &'a str,
    numerics: &'a str,
    layers: usize,
    /// Of the tokens, the last logits and the last hidden state.
    digest: &'a str,
    /// The tokens after the prompt.
    tokens: &'a [u32],
    timing: &'a Timing,
}

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

fn run(args: &Args) -> Result<ExitCode> {
    let whole = match args.size {
        Size::Llama1b => Config::LLAMA_1B,
        Size::Tiny => Config::TINY,
    };
    let layers = args.layers.unwrap_or(whole.layers);
    ensure!(layers <= whole.layers, "{layers} layers: the model has {}", whole.layers);
    let config = Config { layers, ..whole };
    // Before a device is opened and filled with weights.
    config.check()?;
    config.check_lengths(args.prompt, args.tokens)?;
    let name = match simulated::resolve(&args.device)? {
        Device::Here(name) => name,
        Device::Elsewhere(code) => return Ok(code),
    };
    let (numerics, dtype) = (Numerics::from(args.numerics), DType::from(args.dtype));
    let device = open(&name, numerics).with_context(|| format!("device {}", args.device))?;
    let info = device.info()?;
    println!(
        "Llama of {} layers and {:.1} M random weights on {}: {} ({}), {dtype}, {numerics} numerics",
        config.layers,
        config.weights() as f64 * 1e-6,
        args.device,
        info.name,
        info.arch
    );
    let source = weights::random(&device, dtype, args.seed);
    let model = Arc::new(Model::new(&device, &config, dtype, numerics, Ranks::alone(), source)?);
    let prompt = generate::prompt(args.prompt, config.vocabulary);
    let (timing, outcome) = if args.bench {
        generate::bench(&model, &prompt, args.tokens, true)?
    } else {
        generate::once(&model, &prompt, args.tokens)?
    };
    ensure!(outcome.logits.iter().all(|x| x.is_finite()), "a logit is not finite");
    println!("{timing}");
    let digest = digest(outcome.words());
    println!("digest of the tokens, the last logits and the last hidden state: {digest}");
    if let Some(path) = &args.json {
        let report = Report {
            device: &args.device,
            device_name: &info.name,
            dtype: dtype.as_str(),
            numerics: numerics.name(),
            layers: config.layers,
            digest: &digest,
            tokens: &outcome.tokens,
            timing: &timing,
        };
        write(&report, path)?;
    }
    Ok(ExitCode::SUCCESS)
}

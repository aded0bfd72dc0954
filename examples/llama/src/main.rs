//! `cargo run --release -p isobit-llama --features cuda,rocm -- --device cuda:0 --bench`: continues
//! a prompt and prints how fast. With `--device cuda:0,cuda:1`, two GPUs do it together.

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use isobit::{AnyDevice, BackendDevice, DType, Numerics};
use isobit_examples::choice::{Held, Who, exit_code, open};
use isobit_examples::output::{digest, write};
use isobit_examples::simulated::{self, Device};
use isobit_llama::generate::prompts;
use isobit_llama::session::Outcome;
use isobit_llama::{Config, Job, Measured, Model, Shard, Timing, data_parallel, tensor_parallel, weights};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Reads a prompt with Llama 3.2 1B of random weights, makes tokens after it, and prints the tokens
/// per second of both phases and a digest of what it computed.
#[derive(Parser, Debug)]
struct Args {
    /// The device, such as cpu, cuda:0, rocm:0, sim-cuda or sim-rocm:gfx90a. Several, as in
    /// cuda:0,cuda:1, are ranks that hold the model together, each its share of every matrix; the
    /// same device may be several ranks.
    #[arg(long, value_delimiter = ',', default_value = "cpu")]
    device: Vec<String>,
    /// Every rank holds the whole model, and the ranks share the prompts.
    #[arg(long)]
    data_parallel: bool,
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
    /// Prompts to continue one after the other; by default one, and with --data-parallel one per
    /// rank.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    prompts: Option<u16>,
    /// Tokens of a prompt.
    #[arg(long, default_value_t = 512)]
    prompt: usize,
    /// Tokens to make after the one that follows a prompt.
    #[arg(long, default_value_t = 64)]
    tokens: usize,
    /// Selects the weights.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Continues a prompt several times and prints medians, with one device also of a graph.
    /// Without it, the times include the loading of kernels.
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
    /// The devices' names from the command line.
    device: &'a str,
    /// The names that the devices report.
    device_name: &'a str,
    data_parallel: bool,
    prompts: usize,
    dtype: &'a str,
    numerics: &'a str,
    layers: usize,
    /// Of the tokens, the last logits and the last hidden state of every prompt.
    digest: &'a str,
    /// The tokens after each prompt.
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
    let ranks = args.device.len();
    let number = args.prompts.map_or(if args.data_parallel { ranks } else { 1 }, usize::from);
    let job = Job {
        prompts: prompts(number, args.prompt, config.vocabulary),
        steps: args.tokens,
        measured: match args.bench {
            false => Measured::Once,
            true if ranks > 1 => Measured::Medians,
            true => Measured::MediansAndGraph,
        },
    };
    if args.data_parallel {
        job.part(0, ranks)?;
    } else {
        Shard::new(&config, 0, ranks)?;
    }
    let names = match simulated::resolve_all(&args.device)? {
        Device::Here(names) => names,
        Device::Elsewhere(code) => return Ok(code),
    };
    let (numerics, dtype) = (Numerics::from(args.numerics), DType::from(args.dtype));
    let devices = names
        .iter()
        .zip(&args.device)
        .map(|(name, asked)| open(name, numerics).with_context(|| format!("device {asked}")))
        .collect::<Result<Vec<_>>>()?;
    let infos = devices.iter().map(AnyDevice::info).collect::<isobit::Result<Vec<_>>>()?;
    let told = infos.iter().zip(&args.device).map(|(info, asked)| format!("{asked}: {} ({})", info.name, info.arch));
    println!(
        "Llama of {} layers and {:.1} M random weights on {}, {dtype}, {numerics} numerics",
        config.layers,
        config.weights() as f64 * 1e-6,
        told.collect::<Vec<_>>().join(", "),
    );
    let model = |device: &AnyDevice, ranks| {
        let source = weights::random(device, dtype, args.seed);
        Model::new(device, &config, dtype, numerics, ranks, source)
    };
    let (timing, outcomes) = if args.data_parallel {
        data_parallel::run(&devices, &job, model)?
    } else {
        tensor_parallel::run(&devices, &job, model)?
    };
    ensure!(outcomes.iter().flat_map(|o| &o.logits).all(|x| x.is_finite()), "a logit is not finite");
    if ranks > 1 {
        let how = if args.data_parallel { "a whole model each" } else { "one model together" };
        println!("{ranks} ranks with {how}; prompts: {number}");
    }
    if ranks > 1 && args.bench {
        println!("no graph is measured: several ranks submit their operations one by one");
    }
    println!("{timing}");
    let digest = digest(outcomes.iter().flat_map(Outcome::words));
    println!("digest of the tokens, the last logits and the last hidden state: {digest}");
    if let Some(path) = &args.json {
        let report = Report {
            device: &args.device.join(","),
            device_name: &infos.iter().map(|info| info.name.as_str()).collect::<Vec<_>>().join(", "),
            data_parallel: args.data_parallel,
            prompts: number,
            dtype: dtype.as_str(),
            numerics: numerics.name(),
            layers: config.layers,
            digest: &digest,
            tokens: &outcomes.iter().flat_map(|o| &o.tokens).copied().collect::<Vec<_>>(),
            timing: &timing,
        };
        write(&report, path)?;
    }
    Ok(ExitCode::SUCCESS)
}

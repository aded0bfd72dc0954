//! `cargo run --release -p isobit-embed --features cuda,rocm -- --device cuda:0 "A sentence"
//! "Another one"`: prints how similar sentences are.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use isobit::{BackendDevice, DType, Numerics};
use isobit_embed::output::{Report, Sentence, digest, table};
use isobit_embed::{Batch, Model, Tokenizer, bench, folder};
use isobit_examples::choice::{Held, Who, exit_code, open};
use isobit_examples::output::write;
use isobit_examples::simulated::{self, Device};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Embeds sentences with all-MiniLM-L6-v2 and prints the cosine similarity of every pair. `cargo
/// xtask model` downloads the model.
#[derive(Parser, Debug)]
struct Args {
    /// The sentences; by default a few examples.
    sentences: Vec<String>,
    /// The device, such as cpu, cuda:0, rocm:0, sim-cuda or sim-rocm:gfx90a.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// The implementation of matrix products and of attention.
    #[arg(long, value_enum, default_value_t = Who::Portable)]
    numerics: Who,
    /// The dtype of weights and intermediate results.
    #[arg(long, value_enum, default_value_t = Held::F32)]
    dtype: Held,
    /// The model's folder, if it is not that of `cargo xtask model`.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Instead of comparing the sentences, times steps on a batch of full sentences made of them.
    #[arg(long)]
    bench: bool,
    /// Sentences per step.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Tokens per sentence for --bench.
    #[arg(long, default_value_t = 128)]
    tokens: usize,
    /// Writes ids and embeddings to this file, and with --bench also the times.
    #[arg(long)]
    json: Option<PathBuf>,
}

const TELLING: [&str; 6] = [
    "A cat sits on the mat.",
    "A kitten is resting on a rug.",
    "The stock market fell sharply today.",
    "Share prices dropped this afternoon.",
    "How do I bake sourdough bread?",
    "What is a good recipe for a loaf with wild yeast?",
];

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

fn run(args: &Args) -> Result<ExitCode> {
    let folder = folder::find(args.model.as_deref())?;
    let name = match simulated::resolve(&args.device)? {
        Device::Here(name) => name,
        Device::Elsewhere(code) => return Ok(code),
    };
    let (numerics, dtype) = (Numerics::from(args.numerics), DType::from(args.dtype));
    let device = open(&name, numerics).with_context(|| format!("device {}", args.device))?;
    let model = Arc::new(Model::load(&folder, &device, dtype, numerics)?);
    let info = device.info()?;
    println!("all-MiniLM-L6-v2 on {}: {} ({}), {dtype}, {numerics} numerics", args.device, info.name, info.arch);

    let tokenizer = Tokenizer::load(&folder, model.config())?;
    let mut texts: Vec<String> = args.sentences.clone();
    if texts.is_empty() {
        texts = TELLING.map(String::from).to_vec();
    }
    let mut ids = texts.iter().map(|text| tokenizer.encode(text)).collect::<Result<Vec<_>>>()?;
    let sentences = usize::from(args.batch);
    let (timing, embeddings) = if args.bench {
        ids = bench::full_batch(&ids, sentences, args.tokens, model.config().max_tokens)?;
        texts = vec![String::new(); sentences];
        let (timing, embeddings) = bench::run(&model, &Batch::new(&ids, model.config().pad_token_id)?)?;
        (Some(timing), embeddings)
    } else {
        (None, model.embed(&ids, sentences)?)
    };
    ensure!(embeddings.iter().flatten().all(|x| x.is_finite()), "an embedding has a value that is not finite");

    let parts = texts.into_iter().zip(ids).zip(embeddings);
    let sentences: Vec<_> = parts.map(|((text, ids), embedding)| Sentence { text, ids, embedding }).collect();
    match &timing {
        Some(timing) => println!("{timing}"),
        None => println!("\n{}\n", table(&sentences)),
    }
    let digest = digest(&sentences);
    println!("digest of the embeddings: {digest}");
    if let Some(path) = &args.json {
        let report = Report {
            device: &args.device,
            device_name: &info.name,
            dtype: dtype.as_str(),
            numerics: numerics.name(),
            digest: &digest,
            sentences: &sentences,
            timing: timing.as_ref(),
        };
        write(&report, path)?;
    }
    Ok(ExitCode::SUCCESS)
}

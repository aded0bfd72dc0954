//! Draws programs, plants a fault in each, runs both on every card, and compares with the oracle.

use crate::card::{Card, Model};
use crate::draw;
use crate::oracle::{self, Verdict};
use crate::plant::{Plant, plant};
use crate::program::{Arguments, Program, Space};
use crate::report::{Outcome, Report};
use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use std::path::Path;

/// The number of programs in a source, which is compiled once per card.
const PER_MODULE: u64 = 50;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// The number of programs with a planted change.
    pub programs: u64,
    /// The number of launches of each, with other arguments.
    pub launches: usize,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

/// A program without a fault, and the same with a change.
struct Pair {
    name: String,
    plant: Plant,
    sound: Program,
    changed: Program,
    arguments: Vec<Arguments>,
}

fn pair(seed: u64, number: u64) -> Pair {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    let kind = Plant::ALL[number as usize % Plant::ALL.len()];
    loop {
        let sound = draw::program(&mut rng);
        let Some(changed) = plant(&mut rng, &sound, kind) else { continue };
        return Pair { name: format!("k{number}"), plant: kind, arguments: Vec::new(), sound, changed };
    }
}

/// Measures on every card.
///
/// # Errors
/// Fails if clang is missing, or a kernel cannot be compiled or loaded.
pub fn measure(options: &Options) -> Result<Report> {
    let modules = options.programs.div_ceil(PER_MODULE);
    let reports = (0..modules).into_par_iter().map(|module| {
        let numbers = module * PER_MODULE..((module + 1) * PER_MODULE).min(options.programs);
        of_module(options, numbers)
    });
    reports.try_reduce(Report::default, |a, b| Ok(a.joined(b)))
}

fn of_module(options: &Options, numbers: std::ops::Range<u64>) -> Result<Report> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let source = folder.path().join("planted.cu");
    let mut text = [include_str!("../../idioms/shim.h"), include_str!("vectors.h")].concat();
    let mut pairs = Vec::new();
    for number in numbers {
        let mut pair = pair(options.seed, number);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(!options.seed ^ number);
        pair.arguments = draw::arguments(&mut rng, &pair.sound, options.launches);
        text += &pair.sound.text(&format!("{}_sound", pair.name));
        text += &pair.changed.text(&pair.name);
        pairs.push(pair);
    }
    std::fs::write(&source, &text)?;
    let reports = Model::ALL.into_par_iter().map(|model| on_card(model, &source, &pairs));
    reports.try_reduce(Report::default, |a, b| Ok(a.joined(b)))
}

fn on_card(model: Model, source: &Path, pairs: &[Pair]) -> Result<Report> {
    let card = Card::new(model, &model.compile(source)?)?;
    let mut report = Report::default();
    for pair in pairs {
        let sound = run(&card, model, &pair.sound, &format!("{}_sound", pair.name), &pair.arguments[0])?;
        ensure!(
            sound.verdict.must.is_empty() && sound.verdict.may.is_empty(),
            "{}: a program without a fault has one: {:?}\n{}",
            pair.name,
            sound.verdict,
            pair.sound.text(&pair.name)
        );
        report.add(model, None, &sound, &pair.sound, &pair.arguments[0]);
        for arguments in &pair.arguments {
            let ran = run(&card, model, &pair.changed, &pair.name, arguments)?;
            report.add(model, Some(pair.plant), &ran, &pair.changed, arguments);
        }
    }
    Ok(report)
}

fn run(card: &Card, model: Model, program: &Program, kernel: &str, arguments: &Arguments) -> Result<Outcome> {
    let width = |space| if space == Space::Counters { 4 } else { program.element.bytes() as usize };
    let mut at = [0; Space::GLOBAL.len()];
    for (at, space) in at.iter_mut().zip(Space::GLOBAL) {
        let (length, width) = (program.len(space), width(space));
        let contents: Option<Vec<u8>> = match space {
            Space::Input => {
                Some((0..length).flat_map(|i| oracle::input(program, i).to_le_bytes()[..width].to_vec()).collect())
            }
            Space::Counters => Some(vec![0; length as usize * width]),
            _ => None,
        };
        *at = card.alloc(length as usize * width, contents.as_deref())?;
    }
    let (wave, shared_unit, aligned) = (model.wave(), model.shared_unit(), model.aligned());
    let judged = oracle::Card { wave, shared_unit, aligned, at, is_live: &|at| card.is_live(at) };
    let verdict = oracle::judge(program, arguments, &judged);
    let mut args = at.to_vec();
    args.extend([arguments.count, arguments.shift, arguments.chosen].map(|a| a as u64));
    let found = card.launch(kernel, program.blocks, program.threads, &args)?;
    let wrong = verdict.must.is_empty() && verdict.may.is_empty() && !is_right(card, program, &verdict, at[3]);
    at.into_iter().for_each(|at| card.free(at));
    Ok(Outcome { verdict, found, wrong })
}

/// Whether the output is what the oracle computed.
fn is_right(card: &Card, program: &Program, verdict: &Verdict, at: u64) -> bool {
    let width = program.element.bytes() as usize;
    let got = card.bytes(at, verdict.output.len() * width);
    let expected = verdict.output.iter().zip(got.chunks(width));
    expected.into_iter().all(|(expected, got)| expected.is_none_or(|x| x.to_le_bytes()[..width] == *got))
}

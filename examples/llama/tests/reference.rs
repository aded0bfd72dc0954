//! Compares the model on the CPU with NumPy in float64, and the cache with doing without.

mod common;

use common::tiny;
use isobit::{DType, Numerics};
use isobit_llama::session::Outcome;
use isobit_llama::{Config, Ranks, generate};
use serde::Deserialize;
use std::sync::Arc;

/// The results of `reference.py`.
#[derive(Debug, Deserialize)]
struct Expected {
    prompt: Vec<u32>,
    tokens: Vec<u32>,
    first: Made,
    last: Made,
}

/// What a token was chosen by.
#[derive(Debug, Deserialize)]
struct Made {
    logits: Vec<f32>,
    hidden: Vec<f32>,
}

fn expected() -> Expected {
    serde_json::from_str(include_str!("expected.json")).expect("expected.json is as reference.py writes it")
}

/// Returns the largest difference, relative to the largest element.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(0f32, |largest, x| largest.max(x.abs()));
    a.iter().zip(b).fold(0f32, |most, (a, b)| most.max((a - b).abs())) / largest
}

#[test]
fn tokens_logits_and_hidden_state_are_those_of_numpy() {
    let Expected { prompt, tokens, first, last } = expected();
    assert_eq!(generate::prompt(prompt.len(), Config::TINY.vocabulary), prompt);
    let all = tokens.len() - 1;
    for numerics in [Numerics::Portable, Numerics::Block] {
        // The weights have 24 bits. Rounded to the 8 of bf16, they soon choose other tokens.
        for (dtype, steps, most) in [(DType::F32, all, 4e-6), (DType::F16, all, 5e-3), (DType::BF16, 0, 0.03)] {
            let model = tiny(dtype, numerics, Ranks::alone());
            let mut session = model.session(prompt.len(), all).unwrap();
            session.set(&prompt).unwrap();
            model.prefill(&mut session).unwrap();
            (0..steps).try_for_each(|_| model.decode(&mut session)).unwrap();
            let outcome = session.outcome(steps).unwrap();
            assert_eq!(outcome.tokens, tokens[..=steps], "{dtype}, {numerics}");
            let want = if steps == 0 { &first } else { &last };
            let found = [(&outcome.logits, &want.logits), (&outcome.hidden, &want.hidden)]
                .map(|(got, want)| difference(got, want));
            assert!(found.iter().all(|&d| d <= most), "{dtype}, {numerics}: {found:?}");
        }
    }
}

/// Not to the bit: in the prompt, keys after a token have a part in the steps of its values.
#[test]
fn a_step_with_the_cache_gives_what_the_whole_sequence_gives() {
    let model = tiny(DType::F32, Numerics::Portable, Ranks::alone());
    // Up to, and over, the end of a block of 128 keys.
    for (start, steps) in [(127, 1), (120, 30)] {
        let mut tokens = generate::prompt(start, Config::TINY.vocabulary);
        let (_, stepped) = generate::once(&model, &tokens, steps).unwrap();
        tokens.extend(&stepped.tokens[..steps]);
        let mut session = model.session(tokens.len(), 1).unwrap();
        session.set(&tokens).unwrap();
        model.prefill(&mut session).unwrap();
        let whole = session.outcome(0).unwrap();
        assert_eq!(whole.tokens, stepped.tokens[steps..]);
        let found = difference(&stepped.logits, &whole.logits);
        assert!(found < 1e-5, "{steps} steps after {start}: {found}");
    }
}

#[test]
fn a_captured_step_makes_the_same_and_a_session_serves_again() {
    let model = Arc::new(tiny(DType::F32, Numerics::Portable, Ranks::alone()));
    let prompts = [generate::prompt(9, Config::TINY.vocabulary), vec![3; 9]];
    let alone = prompts.each_ref().map(|prompt| generate::once(&model, prompt, 5).unwrap().1);
    let words = |outcome: &Outcome| outcome.words().collect::<Vec<_>>();
    assert!(words(&alone[0]) != words(&alone[1]));
    for (prompt, alone) in prompts.iter().zip(&alone) {
        let session = model.session(9, 5).unwrap();
        let (_, replayed) = generate::graph(&model, session, prompt, 5).unwrap();
        assert_eq!(words(&replayed), words(alone));
    }
    let mut session = model.session(9, 5).unwrap();
    for (prompt, alone) in prompts.iter().zip(&alone) {
        session.set(prompt).unwrap();
        model.prefill(&mut session).unwrap();
        (0..5).try_for_each(|_| model.decode(&mut session)).unwrap();
        assert_eq!(words(&session.outcome(5).unwrap()), words(alone));
    }
    let e = session.set(&[1, 2]).unwrap_err().to_string();
    assert!(e.contains("2 tokens") && e.contains("made for 9"), "{e}");
}

#[test]
fn what_the_session_has_no_room_for_is_an_error() {
    let model = tiny(DType::F32, Numerics::Portable, Ranks::alone());
    let kind = |e: isobit::Error| e.kind();
    let mut session = model.session(2, 1).unwrap();
    session.set(&[1, Config::TINY.vocabulary as u32]).unwrap();
    let missing = model.prefill(&mut session).map_err(kind).unwrap_err();
    session.set(&[1, 2]).unwrap();
    model.prefill(&mut session).unwrap();
    model.decode(&mut session).unwrap();
    let full = model.decode(&mut session).map_err(kind).unwrap_err();
    assert_eq!([missing, full], [isobit::ErrorKind::IndexOutOfRange; 2]);
}

//! Compares the model on the CPU with NumPy in float64, which also tokenised the sentences.

mod common;

use common::model;
use isobit::{CpuDevice, DType, Numerics};
use isobit_embed::output::cosine;
use isobit_embed::{Batch, Captured, Config, Model, Tokenizer};
use serde::Deserialize;
use std::sync::Arc;

/// A sentence with the results of `reference.py`.
#[derive(Debug, Deserialize)]
struct Expected {
    text: String,
    ids: Vec<u32>,
    embedding: Vec<f32>,
}

/// Returns four sentences; the last has more tokens than the model reads.
fn expected() -> Vec<Expected> {
    serde_json::from_str(include_str!("expected.json")).expect("expected.json is as reference.py writes it")
}

#[test]
fn tokens_are_those_of_the_published_rules() {
    let Some(folder) = model() else { return };
    let tokenizer = Tokenizer::load(&folder, &Config::load(&folder).unwrap()).unwrap();
    for sentence in expected() {
        assert_eq!(tokenizer.encode(&sentence.text).unwrap(), sentence.ids, "{}", sentence.text);
    }
}

#[test]
fn embeddings_are_those_of_numpy() {
    let Some(folder) = model() else { return };
    let expected = expected();
    let ids: Vec<Vec<u32>> = expected.iter().map(|s| s.ids.clone()).collect();
    for (dtype, sentences, least) in [(DType::F32, 4, 1.0 - 1e-10), (DType::F16, 3, 0.99999), (DType::BF16, 3, 0.999)] {
        for numerics in [Numerics::Portable, Numerics::Block] {
            let model = Model::load(&folder, &CpuDevice, dtype, numerics).unwrap();
            let embeddings = model.embed(&ids[..sentences], 4).unwrap();
            assert_eq!(embeddings.len(), sentences);
            for (got, want) in embeddings.iter().zip(&expected) {
                let found = cosine(got, &want.embedding);
                assert!(found >= least, "{dtype}, {numerics}, cosine {found}: {}", want.text);
                let length = got.iter().map(|x| x * x).sum::<f32>().sqrt();
                assert!((length - 1.0).abs() < 0.01, "{dtype}, {numerics}, length {length}: {}", want.text);
            }
        }
    }
}

/// Padding is masked with -infinity, so it adds only zeros, and no sum depends on the other
/// sentences of the batch.
#[test]
fn an_embedding_is_the_same_to_the_bit_whatever_it_is_batched_with() {
    let Some(folder) = model() else { return };
    let model = Model::load(&folder, &CpuDevice, DType::F32, Numerics::Portable).unwrap();
    let ids: Vec<Vec<u32>> = expected().into_iter().map(|s| s.ids).take(3).collect();
    let bits = |embeddings: Vec<Vec<f32>>| embeddings.into_iter().flatten().map(f32::to_bits).collect::<Vec<_>>();
    let together = bits(model.embed(&ids, 3).unwrap());
    assert_eq!(together, bits(model.embed(&ids, 1).unwrap()));
    assert_eq!(together, bits(model.embed(&ids, 2).unwrap()));
}

#[test]
fn a_workspace_serves_one_batch_after_another() {
    let Some(folder) = model() else { return };
    let model = Model::load(&folder, &CpuDevice, DType::F32, Numerics::Portable).unwrap();
    let ids: Vec<Vec<u32>> = expected().into_iter().map(|s| s.ids).take(3).collect();
    let batch = |order: [usize; 2]| Batch::new(&order.map(|i| ids[i].clone()), 0).unwrap();
    let mut workspace = model.workspace(&batch([2, 0])).unwrap();
    let mut last = Vec::new();
    for order in [[2, 0], [1, 2]] {
        workspace.set(&batch(order)).unwrap();
        model.forward(&mut workspace).unwrap();
        last = workspace.embeddings().unwrap();
    }
    assert_eq!(last, model.embed(&[ids[1].clone(), ids[2].clone()], 2).unwrap());
    let e = workspace.set(&batch([0, 1])).unwrap_err().to_string();
    assert!(e.contains("(2, 12)") && e.contains("(2, 27)"), "{e}");
}

#[test]
fn a_captured_step_gives_the_same_bits_and_takes_new_inputs() {
    let Some(folder) = model() else { return };
    let model = Arc::new(Model::load(&folder, &CpuDevice, DType::F32, Numerics::Portable).unwrap());
    let ids: Vec<Vec<u32>> = expected().into_iter().map(|s| s.ids).take(3).collect();
    let batch = |order: [usize; 2]| Batch::new(&order.map(|i| ids[i].clone()), 0).unwrap();
    let mut captured = Captured::new(&model, &batch([2, 2])).unwrap();
    // Without padding, with it, and without again.
    for order in [[2, 2], [2, 0], [1, 2], [2, 2]] {
        captured.set(&batch(order)).unwrap();
        captured.replay().unwrap();
        let alone = order.map(|i| model.embed(&[ids[i].clone()], 1).unwrap().remove(0));
        assert_eq!(captured.embeddings().unwrap(), alone, "{order:?}");
    }
}

#[test]
fn an_id_that_is_no_tokens_is_an_error() {
    let Some(folder) = model() else { return };
    let model = Model::load(&folder, &CpuDevice, DType::F32, Numerics::Portable).unwrap();
    let e = model.embed(&[vec![101, 30522, 102]], 1).unwrap_err();
    let kind = e.downcast_ref::<isobit::Error>().map(isobit::Error::kind);
    assert_eq!(kind, Some(isobit::ErrorKind::IndexOutOfRange), "{e:#}");
    let e = model.embed(&[vec![101; 513]], 1).unwrap_err().to_string();
    assert!(e.contains("513") && e.contains("512"), "{e}");
}

//! The program's output: the similarity of the sentences, a digest of all bits, and a file with
//! everything.

use crate::bench::Timing;
use isobit_examples::output;
use serde::Serialize;
use std::fmt::Write as _;

/// A sentence and its results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sentence {
    /// Its text; empty if it was made from tokens.
    pub text: String,
    /// The ids of its tokens.
    pub ids: Vec<u32>,
    /// Its embedding, of length 1.
    pub embedding: Vec<f32>,
}

/// The content of the file that `--json` names.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    /// The device name from the command line.
    pub device: &'a str,
    /// The name that the device reports.
    pub device_name: &'a str,
    /// The dtype of weights and intermediate results.
    pub dtype: &'a str,
    /// The implementation of matrix products: `portable`, `block` or `vendor`.
    pub numerics: &'a str,
    /// [`digest`] of the embeddings.
    pub digest: &'a str,
    /// The sentences; with `--bench`, those of the timed batch.
    pub sentences: &'a [Sentence],
    /// The times of that batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<&'a Timing>,
}

/// Returns the cosine of the angle between two vectors.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Returns the [digest](isobit_examples::output::digest) of the bits of all embeddings.
pub fn digest(sentences: &[Sentence]) -> String {
    output::digest(sentences.iter().flat_map(|s| &s.embedding).map(|element| element.to_bits()))
}

/// Returns the matrix of cosine similarities, one row per sentence.
pub fn table(sentences: &[Sentence]) -> String {
    let mut text = String::from("   ");
    for number in 1..=sentences.len() {
        let _ = write!(text, "{number:>7}");
    }
    for (row, sentence) in sentences.iter().enumerate() {
        let _ = write!(text, "\n{:>3}", row + 1);
        for other in sentences {
            let _ = write!(text, "{:>7.3}", cosine(&sentence.embedding, &other.embedding));
        }
        let _ = write!(text, "  {}", sentence.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(text: &str, embedding: &[f32]) -> Sentence {
        Sentence { text: text.into(), ids: vec![101, 102], embedding: embedding.to_vec() }
    }

    #[test]
    fn the_table_holds_the_cosine_of_every_pair() {
        // Sides of 3, 4, 5: the cosines are 3/5 and 4/5.
        let sentences = [sentence("one", &[1.0, 0.0]), sentence("two", &[0.0, 2.0]), sentence("three", &[3.0, 4.0])];
        let lines = ["         1      2      3", "  1  1.000  0.000  0.600  one", "  2  0.000  1.000  0.800  two"];
        assert!(table(&sentences).starts_with(&lines.join("\n")), "{}", table(&sentences));
    }
}

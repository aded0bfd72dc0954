//! `printf` of kernels: the texts are those of the C library, whole and in order, and the results
//! are those that CUDA documents.

#[path = "../../../core/testing/printing.rs"]
mod texts;

use crate::common::{Card, compile};
use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_core::print::Stream;
use isobit_simgpu_nvidia::arch::Arch;
use std::path::Path;
use texts::TEXT;

fn card() -> Card {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/printing.cu");
    Card::with(Arch::Sm80, &compile(&source, Arch::Sm80), 4)
}

/// Runs a kernel that must have no findings, and returns what it printed.
fn printed(card: &Card, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Vec<Vec<u8>> {
    assert_eq!(card.findings(kernel, blocks, threads, args), []);
    taken(card)
}

fn taken(card: &Card) -> Vec<Vec<u8>> {
    let texts = card.gpu.output().take();
    assert!(texts.iter().all(|(stream, _)| *stream == Stream::Out));
    texts.into_iter().map(|(_, text)| text).collect()
}

fn words(texts: Vec<Vec<u8>>) -> Vec<String> {
    texts.into_iter().map(|text| String::from_utf8(text).expect("letters")).collect()
}

#[test]
fn every_conversion() {
    let card = card();
    let text = card.upload(TEXT);
    let (found, want) = (printed(&card, "conversions", 1, 1, &[text]), texts::conversions());
    assert_eq!(words(found), words(want));
}

#[test]
fn lines_of_many_threads() {
    let card = card();
    texts::check_lines(&printed(&card, "lines", 37, 96, &[3]), 37, 96, 3);
    let mut found = words(printed(&card, "divided", 1, 70, &[]));
    found.sort();
    assert_eq!(found, texts::divided(70));
}

#[test]
fn formats_and_strings_in_local_and_shared_memory() {
    let card = card();
    let mut found = printed(&card, "made", 1, 9, &[b'a'.into()]);
    found.sort();
    assert_eq!(found, texts::made(b'a', 9));
    assert_eq!(words(printed(&card, "shared_string", 1, 64, &[])), ["abcdefghijklmnopqrstuvwxyz\n"]);
}

#[test]
fn results_as_cuda_documents_them() {
    let card = card();
    let (out, text) = (card.upload(&[7i32; 64]), card.upload(TEXT));
    let results = |count| card.download::<i32>(out, count);
    assert_eq!(words(printed(&card, "results", 1, 1, &[out, text])), ["nothing\n", "12 letters\n", "   1.00\n"]);
    assert_eq!(results(3), [0, 2, 3]);
    let first: Vec<String> = (1..=32).map(|i| i.to_string()).collect();
    let want = format!("{} %d %5.2f %s end\n", first.join(" "));
    assert_eq!(words(printed(&card, "too_many", 1, 1, &[out])), [want]);
    assert_eq!(results(1), [32]);
    assert_eq!(words(printed(&card, "no_format", 1, 40, &[out])), Vec::<String>::new());
    assert_eq!(results(41)[..40], [-1; 40]);
    assert_eq!(results(41)[40], 7);
    assert_eq!(words(printed(&card, "null_string", 1, 1, &[out])), ["(null)|ab|  (null)\n"]);
    assert_eq!(results(1), [3]);
    assert_eq!(words(printed(&card, "not_conversions", 1, 1, &[])), ["%y 5 %"]);
}

#[test]
fn strings_that_cannot_be_read() {
    let card = card();
    let out = card.upload(&[7i32; 4]);
    // No NUL in the allocation.
    let endless = card.upload(b"endless!");
    let found = card.findings("unreadable_string", 1, 1, &[endless, out]);
    assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [FindingKind::OverRead], "{found:?}");
    assert!(found[0].message.contains("a load of 9 bytes"), "{found:?}");
    assert_eq!(words(taken(&card)), ["before %s after 5\n"]);
    assert_eq!(card.download::<i32>(out, 1), [1]);
    let found = card.findings("unreadable_format", 1, 1, &[0x10, out]);
    assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [FindingKind::OutOfBounds], "{found:?}");
    assert_eq!(words(taken(&card)), Vec::<String>::new());
    assert_eq!(card.download::<i32>(out, 1), [-2]);
    // What nothing wrote is read, and reported.
    let unwritten = card.uninitialised(16);
    let found = card.findings("unreadable_string", 1, 1, &[unwritten, out]);
    assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [FindingKind::UninitialisedRead], "{found:?}");
}

#[test]
fn the_oldest_texts_are_lost_when_there_is_no_room() {
    let card = card();
    // Each text has 27 bytes.
    card.gpu.output().set_room(27 * 10);
    let all = printed(&card, "lines", 1, 32, &[1]);
    assert_eq!(all.len(), 10);
    let want: Vec<String> = (22..32).map(|t| format!("block 0 thread {t} line 0.\n")).collect();
    assert_eq!(words(all), want);
}

//! `printf` of kernels, by both mechanisms of HIP's compilers: the texts are those of the C
//! library, whole and in order. The device side is a stand-in that follows AMD's published
//! protocol, and ROCm's own device library from Debian's package.

mod common;
#[path = "../../core/testing/printing.rs"]
mod printing;
mod rocm_device_libs;

use common::Card;
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_core::print::{Output, Stream};
use printing::TEXT;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// How kernels print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mechanism {
    HostCalls,
    Records,
}

const BOTH: [Mechanism; 2] = [Mechanism::HostCalls, Mechanism::Records];

/// Compiles the kernels with these options, and holds what they print.
fn card(arch: Arch, mechanism: Mechanism, options: &[String]) -> Card {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/printing.hip");
    let kind = match mechanism {
        Mechanism::HostCalls => "-mprintf-kind=hostcall",
        Mechanism::Records => "-mprintf-kind=buffered",
    };
    let options: Vec<&str> = options.iter().map(String::as_str).chain([kind]).collect();
    let compiled =
        COMPILED.lock().expect("no panic meanwhile").entry((arch.name(), options.join(" "))).or_default().clone();
    let image = compiled.get_or_init(|| common::compile_with(&source, arch, &options));
    let card = Card::with(arch, image, 4, 0);
    Card { gpu: card.gpu.with_output(Output::held(usize::MAX)), ..card }
}

/// Code objects by target and options.
type Compiled = HashMap<(&'static str, String), Arc<OnceLock<Vec<u8>>>>;

/// The code objects, each compiled once: clang is the slow part of these tests.
static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// A card with the stand-in for the device library.
fn stand_in(arch: Arch, mechanism: Mechanism) -> Card {
    card(arch, mechanism, &["-DSTAND_IN".into()])
}

/// Runs a test with the stand-in on each card and by both mechanisms.
fn everywhere(test: impl Fn(&Card, Mechanism) + Sync) {
    std::thread::scope(|scope| {
        for arch in Arch::ALL {
            let test = &test;
            scope.spawn(move || BOTH.into_iter().for_each(|mechanism| test(&stand_in(arch, mechanism), mechanism)));
        }
    });
}

/// Runs a kernel that must have no findings, and returns what it printed.
fn printed(card: &Card, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Vec<Vec<u8>> {
    assert_eq!(card.findings(kernel, blocks, threads, args), []);
    taken(card)
}

fn taken(card: &Card) -> Vec<Vec<u8>> {
    card.gpu.output().take().into_iter().map(|(_, text)| text).collect()
}

fn words(texts: Vec<Vec<u8>>) -> Vec<String> {
    texts.into_iter().map(|text| String::from_utf8(text).expect("letters")).collect()
}

/// Checks the kernels that do not depend on who wrote the device side.
fn check(card: &Card, mechanism: Mechanism) {
    let (text, out) = (card.upload(TEXT), card.upload(&[7i32; 4]));
    assert_eq!(words(printed(card, "conversions", 1, 1, &[text])), words(printing::conversions()));
    printing::check_lines(&printed(card, "lines", 23, 150, &[3]), 23, 150, 3);
    let mut found = words(printed(card, "divided", 1, 70, &[]));
    found.sort();
    assert_eq!(found, printing::divided(70));
    let mut found = printed(card, "made", 1, 9, &[b'a'.into()]);
    found.sort();
    assert_eq!(found, printing::made(b'a', 9));
    // The number of characters; records cannot say it.
    assert_eq!(words(printed(card, "results", 1, 1, &[out, text])), ["nothing\n", "12 letters\n", "   1.00\n"]);
    let results = card.download::<i32>(out, 3);
    assert_eq!(results, if mechanism == Mechanism::HostCalls { [8, 11, 8] } else { [0; 3] });
    assert_eq!(words(printed(card, "fewer_arguments", 1, 1, &[])), ["5 and "]);
    let long: String = (0..1000).map(|i| char::from(b'a' + i as u8 % 26)).collect();
    let text = card.upload(&[long.as_bytes(), b"\0"].concat());
    assert_eq!(words(printed(card, "long_string", 1, 1, &[text])), [format!("<{long}>\n")]);
}

#[test]
fn the_published_protocols() {
    everywhere(check);
}

#[test]
fn rocm_s_own_device_library() {
    let Some(folder) = rocm_device_libs::folder() else { return };
    std::thread::scope(|scope| {
        for arch in [Arch::Gfx90a, Arch::Gfx1100] {
            let folder = &folder;
            scope.spawn(move || {
                let options = rocm_device_libs::options(folder, arch.wave_size() == 64);
                BOTH.into_iter().for_each(|mechanism| check(&card(arch, mechanism, &options), mechanism));
            });
        }
    });
}

#[test]
fn null_strings() {
    // A record has nothing for it, and the real runtime ends the text where there is no argument.
    everywhere(|card, mechanism| {
        let want = if mechanism == Mechanism::HostCalls { "[]\n" } else { "[" };
        assert_eq!(words(printed(card, "null_string", 1, 1, &[])), [want]);
    });
}

#[test]
fn what_a_kernel_printed_before_it_failed() {
    everywhere(|card, _| {
        card.launch("fails_after_printing", 1, 1, &[]).expect_err("a trap");
        assert_eq!(words(taken(card)), ["last words\n"]);
        // Its buffers are used again.
        let text = card.upload(TEXT);
        assert_eq!(words(printed(card, "long_string", 1, 1, &[text])), ["<letters>\n"]);
    });
}

#[test]
fn the_standard_error_and_unknown_streams() {
    let card = stand_in(Arch::Gfx90a, Mechanism::HostCalls);
    let out = card.upload(&[7u64]);
    assert_eq!(card.findings("to_error", 1, 1, &[1, out]), []);
    assert_eq!(card.gpu.output().take(), [(Stream::Error, b"told\n".to_vec())]);
    assert_eq!(card.download::<u64>(out, 1), [5]);
    assert_eq!(card.findings("to_error", 1, 1, &[4, out]), []);
    assert_eq!(card.gpu.output().take(), []);
    assert_eq!(card.download::<i64>(out, 1), [-1]);
}

#[test]
fn a_full_buffer_of_records() {
    let card = stand_in(Arch::Gfx90a, Mechanism::Records);
    // A record has its control word, the hash of the format and three arguments: 36 bytes.
    let room = ((1 << 20) - 16) / 36;
    let texts = printed(&card, "lines", 64, 64, &[16]);
    assert_eq!(texts.len(), room);
    printing::check_lines(&printed(&card, "lines", 1, 64, &[2]), 1, 64, 2);
}

unsafe extern "C" fn adds(outputs: *mut u64, inputs: *const u64) {
    // SAFETY: the service gives seven inputs and takes two outputs.
    unsafe {
        let inputs = std::slice::from_raw_parts(inputs, 7);
        *outputs = inputs.iter().sum();
        *outputs.add(1) = 1;
    }
}

#[test]
fn other_services() {
    let card = stand_in(Arch::Gfx90a, Mechanism::HostCalls);
    let out = card.uninitialised(8 * 64);
    let function: unsafe extern "C" fn(*mut u64, *const u64) = adds;
    assert_eq!(card.findings("call", 1, 64, &[1, function as usize as u64, out]), []);
    assert_eq!(card.download::<u64>(out, 64), (0..64).map(|t| t + 27).collect::<Vec<_>>());
    let fault = |args: &[u64]| card.launch("call", 1, 64, args).expect_err("it is refused").to_string();
    for (args, why) in [
        ([1, 0, out], "calls a function of the host at 0x0"),
        ([1, out, out], "calls a function of the host at"),
        ([3, 0, out], "service 3 (memory that kernels allocate)"),
        ([4, 0, out], "service 4 (reports of the address sanitizer)"),
        ([77, 0, out], "service 77 (not a known one)"),
    ] {
        let fault = fault(&args);
        assert!(fault.contains(why) && fault.contains("s_sendmsg"), "{fault}");
    }
    let fault = card.launch("not_begun", 1, 1, &[9]).expect_err("no such message").to_string();
    assert!(fault.contains("continues message 9 to the host"), "{fault}");
    // The buffer works again after failures.
    assert_eq!(card.findings("call", 1, 64, &[1, function as usize as u64, out]), []);
}

#[test]
fn a_kernel_cannot_reach_beyond_the_buffers() {
    let card = stand_in(Arch::Gfx90a, Mechanism::HostCalls);
    let found = card.findings("beyond", 1, 1, &[]);
    assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [FindingKind::OutOfBounds], "{found:?}");
    assert!(found[0].buffer.contains("calls of the host"), "{found:?}");
}

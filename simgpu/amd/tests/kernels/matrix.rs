//! Products of whole matrices with matrix instructions: the bits that the host computes from
//! row-major matrices, and no finding.

use crate::common::{Card, compile};
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_core::undefined;
use std::path::Path;
use std::sync::LazyLock;

/// The kernels for every target.
static IMAGES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix.hip");
    Arch::ALL.map(|arch| compile(&source, arch))
});

/// Runs a test on cards with matrix instructions of GFX9, or on those with the ones of GFX11.
fn on_cards(gfx9: bool, test: impl Fn(&Card, Arch)) {
    for (arch, image) in Arch::ALL.into_iter().zip(&*IMAGES).filter(|(arch, _)| arch.is_gfx9() == gfx9) {
        test(&Card::new(arch, image), arch);
    }
}

/// The same numbers in every run: the high bits of a linear congruential generator.
fn random(count: usize) -> Vec<u32> {
    let next =
        |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(2026), next).skip(1).take(count).map(|state| (state >> 32) as u32).collect()
}

/// Returns numbers of both signs and many magnitudes.
fn floats(count: usize) -> Vec<f32> {
    let float = |bits: u32| f32::from_bits(bits & 0x807f_ffff | (100 + (bits >> 23) % 50) << 23);
    random(count).into_iter().map(float).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn products_of_doubles() {
    const DEPTH: usize = 20;
    let numbers: Vec<f64> = floats(16 * (2 * DEPTH + 16)).iter().map(|x| f64::from(*x) / 3.0).collect();
    let (a, rest) = numbers.split_at(16 * DEPTH);
    let (b, c) = rest.split_at(16 * DEPTH);
    let chain = |i: usize| (0..DEPTH).fold(c[i], |sum, k| a[i / 16 * DEPTH + k].mul_add(b[k * 16 + i % 16], sum));
    let expected: Vec<u64> = (0..256).map(|i| chain(i).to_bits()).collect();
    on_cards(true, |card, arch| {
        let d = card.upload(c);
        let args = [card.upload(a), card.upload(b), d, DEPTH as u64];
        assert_eq!(card.findings("product_f64", 1, 64, &args), [], "{}", arch.name());
        assert_eq!(card.download::<u64>(d, 256), expected, "{}", arch.name());

        // A factor that nothing wrote is found where it is loaded.
        let args = [card.uninitialised(8 * 16 * DEPTH), args[1], d, DEPTH as u64];
        let found = card.findings("product_f64", 1, 64, &args);
        assert!(!found.is_empty() && found.iter().all(|f| f.kind == FindingKind::UninitialisedRead), "{found:?}");
        assert!(found.iter().all(|f| f.instruction.contains("global_load")), "{found:?}");
    });
}

#[test]
fn sums_in_accumulation_registers() {
    const DEPTH: usize = 10;
    let (a, b) = (floats(128 * DEPTH), floats(160 * DEPTH));
    let chain = |i: usize| (0..DEPTH).fold(0.0, |sum, k| a[i / 160 * DEPTH + k].mul_add(b[k * 160 + i % 160], sum));
    let expected: Vec<f32> = (0..128 * 160).map(chain).collect();
    on_cards(true, |card, arch| {
        let kernel = card.module.kernel("product_f32").expect("a kernel");
        assert!(kernel.vgprs > 256, "{} registers need no accumulation registers", kernel.vgprs);
        let d = card.uninitialised(4 * 128 * 160);
        let args = [card.upload(&a), card.upload(&b), d, DEPTH as u64];
        assert_eq!(card.findings("product_f32", 1, 64, &args), [], "{}", arch.name());
        assert!(card.download::<u32>(d, 128 * 160) == bits(&expected), "{}", arch.name());
    });
}

#[test]
fn data_that_stays_in_accumulation_registers() {
    let input = floats(4 * 64);
    let mut expected = vec![0.0; 4 * 64];
    for lane in 0..64 {
        for row in 0..4 {
            // The addend replaces the last element after its product was copied behind the others.
            let (a, b, c) = (input[4 * (4 * (lane / 4) + row)], input[4 * lane + 1], input[4 * lane + row]);
            expected[4 * lane + row] = a.mul_add(b, c);
        }
    }
    on_cards(true, |card, arch| {
        let out = card.upload(&[0f32; 2 * 4 * 64]);
        let args = [card.upload(&input), out];
        assert_eq!(card.findings("only_accumulation", 1, 64, &args), [], "{}", arch.name());
        let is = card.download::<u32>(out, 2 * 4 * 64);
        for lane in 0..64 {
            let row = bits(&expected[4 * lane..][..4]);
            assert_eq!(is[4 * lane..][..4], [row[0], row[1], row[2], 2f32.to_bits()], "{} lane {lane}", arch.name());
            assert_eq!(is[256 + 4 * lane], row[3], "{} lane {lane}", arch.name());
        }
    });
}

#[test]
fn accumulation_registers_start_undefined() {
    on_cards(true, |card, arch| {
        let input = card.upload(&floats(4 * 64));
        let out = card.uninitialised(4 * 2 * 4 * 64);
        // A wave before it leaves numbers in the registers.
        assert_eq!(card.findings("only_accumulation", 1, 64, &[input, out]), []);
        assert_eq!(card.findings("undefined", 1, 64, &[out]), []);
        assert_eq!(card.download::<u32>(out, 64), [undefined::WORD; 64], "{}", arch.name());
    });
}

#[test]
fn products_of_bytes() {
    const DEPTH: usize = 96;
    let bytes: Vec<i8> = random(2 * 16 * DEPTH).into_iter().map(|word| word as i8).collect();
    let (a, b) = bytes.split_at(16 * DEPTH);
    let row = |of: &[i8], i: usize| of[i * DEPTH..][..DEPTH].iter().map(|x| i32::from(*x)).collect::<Vec<_>>();
    let dot = |i: usize, start: i32| row(a, i / 16).iter().zip(row(b, i % 16)).fold(start, |sum, (a, b)| sum + a * b);
    on_cards(true, |card, arch| {
        let d = card.uninitialised(4 * 256);
        let args = [card.upload(a), card.upload(b), d, DEPTH as u64];
        assert_eq!(card.findings("product_i8", 1, 64, &args), [], "{}", arch.name());
        let expected: Vec<i32> = (0..256).map(|i| dot(i, 1 + (i / 16 % 4) as i32)).collect();
        assert_eq!(card.download::<i32>(d, 256), expected, "{}", arch.name());
    });
    let dot = |i: usize| {
        let products = row(a, i / 16).into_iter().zip(&b[i % 16 * DEPTH..]).map(|(a, b)| a * i32::from(*b as u8));
        products.sum::<i32>()
    };
    on_cards(false, |card, arch| {
        let d = card.uninitialised(4 * 256);
        let args = [card.upload(a), card.upload(b), d, DEPTH as u64];
        assert_eq!(card.findings("product_iu8", 1, 32, &args), [], "{}", arch.name());
        assert_eq!(card.download::<i32>(d, 256), (0..256).map(dot).collect::<Vec<_>>(), "{}", arch.name());
    });
}

#[test]
fn what_is_not_simulated_is_named() {
    let refused = |gfx9, kernel: &str, words: &[&str]| {
        on_cards(gfx9, |card, arch| {
            let memory = card.upload(&[0u32; 4096]);
            let threads = arch.wave_size() as u32;
            let fault = card.launch(kernel, 1, threads, &[memory, memory]).expect_err("a fault").to_string();
            assert!(words.iter().all(|word| fault.contains(word)), "{}: {fault}", arch.name());
        });
    };
    refused(true, "refused", &["v_mfma_f32_16x16x16", "is not simulated", "AMD does not publish"]);
    refused(true, "broadcast", &["v_mfma_f32_16x16x1", "cbsz", "is not simulated"]);
    refused(false, "refused", &["v_wmma_f32_16x16x16_f16", "is not simulated", "AMD does not publish"]);
}

//! Blocks are read as the page defines, and written as ggml's reference writes them, from any
//! layout and dtype.

use super::vectors::VECTORS;
use super::*;
use half::bf16;

fn quantized(format: GgmlDType, x: &[f32]) -> Vec<u8> {
    vec(&storage(x).quantize(&Layout::contiguous(x.len()), format).unwrap())
}

fn dequantized(format: GgmlDType, bytes: &[u8]) -> Vec<f32> {
    vec(&storage(bytes).dequantize(&Layout::contiguous(bytes.len()), format, DType::F32).unwrap())
}

#[test]
fn any_bytes_are_read_as_the_page_says() {
    let mut rng = Rng(70);
    for &format in GgmlDType::ALL {
        let mut bytes = blocks(&mut rng, format, 40);
        bytes.extend(rng.bits::<u8>(200 * format.block_bytes()));
        let want = elements(format, &bytes);
        assert_same(&dequantized(format, &bytes), &want);
        let (src, layout) = (storage(&bytes), Layout::contiguous(bytes.len()));
        let halves = vec::<f16>(&src.dequantize(&layout, format, DType::F16).unwrap());
        assert_same(&halves, &want.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>());
        let brains = vec::<bf16>(&src.dequantize(&layout, format, DType::BF16).unwrap());
        assert_same(&brains, &want.iter().map(|&v| bf16::from_f32(v)).collect::<Vec<_>>());
    }
}

#[test]
fn blocks_are_those_of_ggml() {
    let x: Vec<f32> = (0..256).map(|i| ((i * 37 + 11) % 101 - 50) as f32 / 16.0 * (1 + i / 16 % 5) as f32).collect();
    for &(format, hex) in VECTORS {
        let got: String = quantized(format, &x[..format.block_size()]).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(got, hex, "{format}");
    }
    assert_eq!(VECTORS.len(), made().count());
}

/// The limits of ggml's own test of its formats: the root of the sum of squared errors over `0.1 +
/// 2 cos(i)`, divided by the number of elements.
#[test]
fn little_is_lost() {
    let n = 4096;
    let x: Vec<f32> = (0..n).map(|i| 0.1 + 2.0 * (i as f32).cos()).collect();
    for format in made() {
        let back = dequantized(format, &quantized(format, &x));
        let squares: f64 = x.iter().zip(&back).map(|(a, b)| f64::from(a - b).powi(2)).sum();
        let limit = match format {
            Q2K => 0.0075,
            Q3K => 0.004,
            TQ1_0 | TQ2_0 => 0.01,
            MXFP4 | NVFP4 => 0.003,
            _ => 0.002,
        };
        assert!(squares.sqrt() / f64::from(n) < limit, "{format}: {}", squares.sqrt() / f64::from(n));
    }
}

#[test]
fn what_was_written_is_found_again() {
    let mut rng = Rng(71);
    for format in [Q4_0, Q5_0, Q8_0, Q8_1, Q8K] {
        let n = format.block_size();
        let reach = if format == Q4_0 {
            8
        } else if format == Q5_0 {
            16
        } else {
            127
        };
        for scale in [1.0, 0.25, -4.0] {
            // Integers times a scale that f16 can represent; one of them is the integer that
            // determines the scale.
            let mut q: Vec<i32> = (0..n).map(|_| rng.below(2 * reach) as i32 - reach as i32 + 1).collect();
            q[rng.below(n)] = -(reach as i32);
            let q: Vec<f32> = q.into_iter().map(|q| q.min(reach as i32 - 1) as f32 * scale).collect();
            assert_eq!(dequantized(format, &quantized(format, &q)), q, "{format}");
        }
    }
    for (format, last) in [(Q4_1, 15), (Q5_1, 31)] {
        let mut x: Vec<f32> = (0..32).map(|_| rng.below(last + 1) as f32 * 0.5 - 3.0).collect();
        (x[3], x[30]) = (-3.0, last as f32 * 0.5 - 3.0);
        assert_eq!(dequantized(format, &quantized(format, &x)), x, "{format}");
    }
}

#[test]
fn edges_are_defined() {
    for format in made() {
        let n = format.block_size();
        let zeros = quantized(format, &vec![0.0; n]);
        assert!(dequantized(format, &zeros).iter().all(|&v| v == 0.0), "{format}");
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            // The neighbouring block must be the same as if it were quantized by itself.
            let mut x: Vec<f32> = (0..2 * n).map(|i| i as f32 - 9.0).collect();
            x[n / 2] = bad;
            let bytes = quantized(format, &x);
            let (first, second) = bytes.split_at(format.block_bytes());
            assert_eq!(second, quantized(format, &x[n..]));
            assert!(dequantized(format, first).iter().all(|v| v.is_nan()), "{format}");
            let nan = match format {
                Q8K => &[0, 0, 0xc0, 0x7f][..],
                MXFP4 => &[0xff],
                NVFP4 => &[0x7f; 4],
                _ => &[0, 0x7e],
            };
            let at = match format {
                Q2K => 80,
                Q3K => 108,
                Q6K => 208,
                TQ1_0 => 52,
                TQ2_0 => 64,
                _ => 0,
            };
            let mut want = vec![0; format.block_bytes()];
            want[at..at + nan.len()].copy_from_slice(nan);
            assert_eq!(first, want);
        }
        // The format can represent none of these values, but none may panic.
        for extreme in [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), 1e-20, 1e30] {
            let x: Vec<f32> = (0..n).map(|i| if i % 3 == 0 { -extreme } else { extreme / (i % 5) as f32 }).collect();
            let x: Vec<f32> = x.into_iter().map(|v| if v.is_finite() { v } else { extreme }).collect();
            assert_eq!(quantized(format, &x).len(), format.block_bytes());
        }
    }
    // The sign of the first element of the greatest magnitude decides, and a minimum of zero is +0.
    let mut x = vec![0.0f32; 32];
    (x[4], x[9]) = (-2.0, 2.0);
    assert_eq!(quantized(Q4_0, &x)[..2], f16::from_f32(0.25).to_le_bytes());
    x[1] = 2.0;
    assert_eq!(quantized(Q4_0, &x)[..2], f16::from_f32(-0.25).to_le_bytes());
    assert_eq!(quantized(Q4_0, &[-0.0; 32])[..2], f16::NEG_ZERO.to_le_bytes());
    assert_eq!(quantized(Q4_1, &[-0.0; 32])[2..4], [0, 0]);
    // Halves round away from zero: 0.5 and -0.5 of a step.
    let mut x = vec![0.0f32; 32];
    (x[0], x[1], x[2], x[3]) = (127.0, 0.5, -0.5, 2.5);
    assert_eq!(quantized(Q8_0, &x)[2..6], [127, 1, 255, 3]);
    // The scaled sum uses the scale before it is rounded.
    let x: Vec<f32> = (0..32).map(|i| i as f32 * 0.3).collect();
    let bytes = quantized(Q8_1, &x);
    let sum: i32 = (0..32).map(|i| integer(Q8_1, &bytes, i)).sum();
    let step = 31.0f32 * 0.3 / 127.0;
    assert_eq!(bytes[2..4], f16::from_f32(sum as f32 * step).to_le_bytes());
    let bytes = quantized(Q8K, &(0..256).map(|i| (i as f32 * 0.7).sin()).collect::<Vec<_>>());
    for j in 0..16 {
        let sum: i32 = (0..16).map(|i| integer(Q8K, &bytes, 16 * j + i)).sum();
        assert_eq!(i32::from(i16::from_le_bytes([bytes[260 + 2 * j], bytes[261 + 2 * j]])), sum);
    }
}

#[test]
fn formats_with_code_books_have_no_quantizer() {
    let without: Vec<GgmlDType> = GgmlDType::ALL.iter().copied().filter(|format| !format.has_quantizer()).collect();
    assert_eq!(without, [IQ2XXS, IQ2XS, IQ2S, IQ3XXS, IQ3S, IQ1S, IQ1M]);
    for format in without {
        let error = storage(&[1.0f32; 256]).quantize(&Layout::contiguous(256), format).unwrap_err();
        assert_eq!(error.kind(), isobit_hal::ErrorKind::UnsupportedOp);
        let text = error.to_string();
        assert!(text.contains("importance matrix") && text.contains("llama-quantize"), "{text}");
    }
}

#[test]
fn any_layout_and_dtype() {
    let mut rng = Rng(72);
    for format in made() {
        let (size, bytes) = (format.block_size(), format.block_bytes());
        // Sources: rows of a transposed buffer, every second element of wide rows, a broadcast, and
        // an offset. The destination has rows with gaps.
        let x = rng.floats(3 + 2 * 2 * 5 * 2 * size);
        let halves: Vec<f16> = x.iter().map(|&v| f16::from_f32(v)).collect();
        let base = Layout::contiguous_with_offset([2, 5, 2 * size], 3);
        for layout in [
            base.clone(),
            base.step(2, 2).unwrap(),
            Layout::contiguous([2 * size, 5]).transpose(0, 1).unwrap(),
            Layout::contiguous_with_offset([1, 2 * size], 1).broadcast_as([4, 2 * size]).unwrap(),
            base.narrow(1, 2, 0).unwrap(),
        ] {
            let blocks = layout.dims()[layout.dims().len() - 1] / size;
            let mut dims = layout.dims().to_vec();
            *dims.last_mut().unwrap() = blocks * bytes;
            let gathered: Vec<f16> = layout.strided_index().map(|i| halves[i]).collect();
            let widened: Vec<f32> = gathered.iter().map(|v| v.to_f32()).collect();
            let want = quantized(format, &widened);
            assert_eq!(vec::<u8>(&storage(&halves).quantize(&layout, format).unwrap()), want, "{format} {layout}");

            // Writes to every third byte, and reads back from there.
            if want.is_empty() {
                continue;
            }
            let spread = Layout::contiguous_with_offset([&dims[..dims.len() - 1], &[3 * blocks * bytes]].concat(), 1);
            let spread = spread.step(dims.len() - 1, 3).unwrap();
            let mut dst = storage(&vec![0xa5u8; spread.required_len().unwrap() + 7]);
            let op = isobit_hal::Op::Quantize(format);
            let src = storage(&widened);
            let plain = Layout::contiguous(layout.shape());
            CpuStorage::apply_into(&op, &[isobit_hal::Src::Storage(&src, &plain)], &mut dst, &spread).unwrap();
            let mut expected = vec![0xa5; dst.len()];
            spread.strided_index().zip(&want).for_each(|(at, &b)| expected[at] = b);
            assert_eq!(vec::<u8>(&dst), expected, "{format} {spread}");
            let back = dst.dequantize(&spread, format, DType::F32).unwrap();
            assert_same(&vec::<f32>(&back), &elements(format, &want));
        }
    }
}

//! Attention by the vendor's library: what it takes, beside the portable kernel, and that the rest
//! is counted as a fall-back. The suite compares its results with a bound; here a difference of a
//! few last places passes, which no wrong window, mask or head does.

use super::attention::by_token;
use super::block_convolution::is_simulated;
use super::block_rows::number;
use super::{Device, Storage, device};
use isobit_hal::{Attention, BackendDevice, BackendStorage, CpuDevice, DType, Layout, Numerics, Op, Src};
use std::sync::{Arc, Mutex};

/// Attention of two batch entries.
#[derive(Debug, Clone, Copy)]
struct Work {
    op: Attention,
    kv_heads: usize,
    group: usize,
    m: usize,
    n: usize,
    d: usize,
    /// What batch entries, heads and queries share of the mask.
    shares: [bool; 3],
}

const BATCH: usize = 2;
const DTYPES: [DType; 2] = [DType::BF16, DType::F16];

fn work(op: Attention, [m, n, d]: [usize; 3]) -> Work {
    Work { op, kv_heads: 2, group: 2, m, n, d, shares: [false, true, false] }
}

/// What cuDNN computes.
fn works() -> Vec<Work> {
    let all = Attention::new();
    let (causal, masked, padded) = (all.causal(), all.with_inputs(true, false), all.with_inputs(false, true));
    let mut works = vec![
        work(all, [128, 128, 64]),
        work(all, [100, 77, 40]),
        work(all.with_scale(0.3), [64, 200, 128]),
        work(causal, [96, 96, 64]),
        work(causal, [40, 200, 64]),
        // Queries before all keys.
        work(causal, [200, 40, 64]),
        work(all.with_window(Some(30), Some(0)), [128, 128, 64]),
        work(all.with_window(Some(30), Some(0)), [50, 128, 64]),
        // A window of more keys than there are queries.
        work(all.with_window(Some(60), Some(0)), [20, 128, 64]),
        work(masked, [64, 80, 64]),
        work(causal.with_inputs(true, false), [72, 72, 64]),
        work(padded, [64, 80, 64]),
        work(padded.causal(), [30, 130, 64]),
        work(all.with_inputs(true, true), [64, 80, 64]),
    ];
    works.push(Work { kv_heads: 4, group: 1, ..works[0] });
    works.push(Work { shares: [true, true, true], ..works[10] });
    works.push(Work { shares: [false; 3], ..works[10] });
    works
}

fn floats(device: &Device, dtype: DType, n: usize, salt: usize, of: impl Fn(usize, f32) -> f32) -> Storage {
    let values: Vec<f32> = (0..n).map(|i| of(i, number(salt + i))).collect();
    let values = CpuDevice.storage_from_slice(&values).unwrap().to_dtype(&Layout::contiguous(n), dtype).unwrap();
    device.storage_from_cpu_storage(&values).unwrap()
}

/// The operands of a work on the device.
struct Operands(Vec<(Storage, Layout)>);

impl Operands {
    fn new(device: &Device, work: &Work, dtype: DType) -> Self {
        let Work { op, kv_heads, group, m, n, d, shares } = *work;
        let heads = kv_heads * group;
        let (q, k) = ([BATCH, heads, m, d], [BATCH, kv_heads, n, d]);
        let count = |dims: [usize; 4]| dims.iter().product();
        let plain = |_, x| 2.0 * x;
        let mut operands = vec![
            (floats(device, dtype, count(q), 1, plain), by_token(q)),
            (floats(device, dtype, count(k), 100_000, plain), Layout::contiguous(k)),
            (floats(device, dtype, count(k), 200_000, plain), by_token(k)),
        ];
        if op.has_mask {
            let mut dims = [BATCH, heads, m, n];
            dims.iter_mut().zip(shares).filter(|(_, shared)| *shared).for_each(|(size, _)| *size = 1);
            let hidden = |i: usize, x: f32| if i.is_multiple_of(5) { f32::NEG_INFINITY } else { x };
            let layout = Layout::contiguous(dims).broadcast_as([BATCH, heads, m, n]).unwrap();
            operands.push((floats(device, dtype, count(dims), 300_000, hidden), layout));
        }
        if op.has_lengths {
            let lengths = device.storage_from_slice(&[n as u32 - 9, u32::MAX]).unwrap();
            operands.push((lengths, Layout::contiguous(BATCH)));
        }
        Self(operands)
    }

    fn inputs(&self) -> Vec<Src<'_, Storage>> {
        self.0.iter().map(|(storage, layout)| Src::Storage(storage, layout)).collect()
    }

    fn run(&self, op: Attention, numerics: Numerics) -> Vec<f32> {
        let operands: Vec<_> = self.0.iter().map(|(storage, layout)| (storage, layout)).collect();
        let result = Storage::apply(&Op::ScaledDotProductAttention(op.with_numerics(numerics)), &operands).unwrap();
        wide(&result)
    }
}

fn wide(storage: &Storage) -> Vec<f32> {
    storage.to_dtype(&Layout::contiguous(storage.len()), DType::F32).unwrap().to_vec().unwrap()
}

/// Compares the results of both.
fn compare(dtype: DType, vendor: &[f32], portable: &[f32], what: &str) {
    // Weights are rounded to the dtype before they are multiplied, and so is the result.
    let most = if dtype == DType::F16 { 2f32.powi(-9) } else { 2f32.powi(-6) };
    let is_near = |a: f32, b: f32| (a - b).abs() <= most;
    let far = vendor.iter().zip(portable).position(|(&a, &b)| !is_near(a, b));
    assert!(far.is_none(), "{what}: result {far:?}: {:?}", far.map(|i| (vendor[i], portable[i])));
}

#[test]
fn the_library_attends_where_it_can() {
    let Some(device) = device() else { return };
    let has_library = device.info().unwrap().capabilities.vendor_attention;
    let dtypes = if is_simulated() { &DTYPES[..1] } else { &DTYPES };
    for (work, &dtype) in works().into_iter().flat_map(|work| dtypes.iter().map(move |dtype| (work, dtype))) {
        let what = format!("{dtype} {work:?}");
        let operands = Operands::new(&device, &work, dtype);
        let before = device.counters();
        let vendor = operands.run(work.op, Numerics::Vendor);
        let after = device.counters();
        let counts = [after.vendor_calls - before.vendor_calls, after.vendor_fallbacks - before.vendor_fallbacks];
        let portable = operands.run(work.op, Numerics::Portable);
        assert_eq!(counts, if has_library { [1, 0] } else { [0, 1] }, "{what}");
        compare(dtype, &vendor, &portable, &what);
        if !has_library {
            // The same kernel computed both, as in the suite.
            return;
        }
    }
}

#[test]
fn the_library_repeats_its_results() {
    let Some(device) = device() else { return };
    if is_simulated() {
        // Its library has no parallel sums.
        return;
    }
    // With few queries a library may divide the keys.
    let (all, padded) = (Attention::new(), Attention::new().with_inputs(false, true));
    for (op, sizes) in
        [all, padded.causal()].into_iter().flat_map(|op| [[512, 512, 64], [2, 4096, 128]].map(|s| (op, s)))
    {
        let work = Work { kv_heads: 8, group: 4, ..work(op, sizes) };
        for dtype in DTYPES {
            let operands = Operands::new(&device, &work, dtype);
            let first = operands.run(work.op, Numerics::Vendor);
            assert!((0..20).all(|_| operands.run(work.op, Numerics::Vendor) == first), "{dtype} {work:?}");
        }
    }
}

#[test]
fn what_the_library_cannot_do_is_portable() {
    let Some(device) = device() else { return };
    let all = Attention::new();
    let odd = [
        work(all, [20, 30, 36]),
        work(all.with_window(Some(3), Some(5)), [20, 30, 64]),
        work(all.causal().with_inputs(true, false), [20, 30, 64]),
        work(all.with_scale(0.0), [20, 30, 64]),
        work(all, [1, 300, 64]),
    ];
    for work in odd {
        let operands = Operands::new(&device, &work, DType::BF16);
        let before = device.counters().vendor_fallbacks;
        let vendor = operands.run(work.op, Numerics::Vendor);
        assert_eq!(device.counters().vendor_fallbacks, before + 1, "{work:?}");
        assert_eq!(vendor, operands.run(work.op, Numerics::Portable), "{work:?}");
    }
    // No library has attention of f32, so nothing is asked of one.
    let plain = work(all, [20, 30, 64]);
    let operands = Operands::new(&device, &plain, DType::F32);
    let before = device.counters();
    let [vendor, portable] = [Numerics::Vendor, Numerics::Portable].map(|numerics| operands.run(all, numerics));
    let after = device.counters();
    assert_eq!((after.vendor_calls, after.vendor_fallbacks), (before.vendor_calls, before.vendor_fallbacks));
    assert_eq!(vendor, portable);
}

#[test]
fn attention_of_the_library_is_captured() {
    let Some(device) = device() else { return };
    let padded = work(Attention::new().with_inputs(false, true), [16, 24, 64]);
    let operands = Operands::new(&device, &padded, DType::BF16);
    let direct = operands.run(padded.op, Numerics::Vendor);
    let layout = Layout::contiguous([BATCH, padded.kv_heads * padded.group, padded.m, padded.d]);
    let out = Arc::new(Mutex::new(device.zeros(layout.shape(), DType::BF16).unwrap()));
    let step = {
        let (out, op) = (out.clone(), Op::ScaledDotProductAttention(padded.op.with_numerics(Numerics::Vendor)));
        move || Storage::apply_into(&op, &operands.inputs(), &mut out.lock().unwrap(), &layout)
    };
    let mut graph = device.capture(step).unwrap();
    for _ in 0..2 {
        graph.replay().unwrap();
        assert_eq!(wide(&out.lock().unwrap()), direct);
    }
}

//! Attention with as many tiles of rows as a card needs to take them through all blocks of keys,
//! which few cases of the suite have, and with few rows, whose blocks of keys are divided. The CPU
//! computes them in another way.

use super::block_convolution::is_simulated;
use super::block_rows::number;
use super::{Device, check, device};
use isobit_hal::{Attention, BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, Layout, Numerics, Op};

const DTYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];
/// Heads that share keys, and keys: two whole blocks and a ragged one.
const GROUP: usize = 2;
const KEYS: usize = 270;

/// Returns heads of the keys, of which there are enough tiles for half of a card.
fn heads(device: &Device) -> usize {
    if is_simulated() {
        return 1;
    }
    (device.info().unwrap().multiprocessors / 4).clamp(1, 64)
}

fn storage(n: usize, dtype: DType, seed: usize, of: impl Fn(usize) -> f32) -> CpuStorage {
    let values: Vec<f32> = (0..n).map(|i| number(seed + i) * of(i)).collect();
    CpuDevice.storage_from_slice(&values).unwrap().to_dtype(&Layout::contiguous(n), dtype).unwrap()
}

/// Heads that lie token by token, as a projection leaves them.
pub(super) fn by_token([batch, heads, tokens, d]: [usize; 4]) -> Layout {
    Layout::contiguous([batch, tokens, heads, d]).permute(&[0, 2, 1, 3]).unwrap()
}

/// Compares heads of `d` elements with `m` queries each; `special` elements of keys and values are
/// not numbers.
fn attend(device: &Device, op: Attention, dtype: DType, [m, d]: [usize; 2], special: bool) {
    let kv_heads = heads(device);
    let dims = |heads, tokens| [1, heads, tokens, d];
    let (q, k) = (dims(kv_heads * GROUP, m), dims(kv_heads, KEYS));
    let count = |dims: [usize; 4]| dims.iter().product();
    let wild = |every: usize| move |i: usize| if special && i % every == 77 { f32::INFINITY } else { 2.0 };
    let query = storage(count(q), dtype, 1, |_| 2.0);
    let key = storage(count(k), dtype, 100_000, wild(60_011));
    let value = storage(count(k), dtype, 200_000, wild(40_009));
    let hidden = |i: usize| if i.is_multiple_of(3) { f32::NEG_INFINITY } else { 1.0 };
    let positive = |n: usize| -> Vec<f32> { (0..n).map(|i| number(300_000 + i).abs().max(0.1) * hidden(i)).collect() };
    let mask = CpuDevice.storage_from_slice(&positive(m * KEYS)).unwrap();
    let mask = mask.to_dtype(&Layout::contiguous(m * KEYS), dtype).unwrap();
    let mask_layout = Layout::contiguous([1, 1, m, KEYS]).broadcast_as([1, kv_heads * GROUP, m, KEYS]).unwrap();
    let lengths = CpuDevice.storage_from_slice(&[KEYS as u32 - 9]).unwrap();
    let one = Layout::contiguous(1);
    let (ql, kl, vl) = (by_token(q), Layout::contiguous(k), by_token(k));
    let mut operands = vec![(&query, &ql), (&key, &kl), (&value, &vl)];
    if op.has_mask {
        operands.push((&mask, &mask_layout));
    }
    if op.has_lengths {
        operands.push((&lengths, &one));
    }
    check(device, &Op::ScaledDotProductAttention(op.with_numerics(Numerics::Portable)), &operands);
}

#[test]
fn many_rows_go_through_all_blocks_of_keys() {
    let Some(device) = device() else { return };
    if is_simulated() {
        // That would take minutes. Small launches of the suite do the same there.
        return;
    }
    for (dtype, d) in DTYPES.into_iter().flat_map(|dtype| [(dtype, 40), (dtype, 128)]) {
        attend(&device, Attention::new().causal(), dtype, [140, d], false);
        attend(&device, Attention::new().with_window(Some(100), Some(3)), dtype, [140, d], true);
        let all = Attention::new().with_inputs(true, true).with_softcap(5.0);
        attend(&device, all, dtype, [140, d], false);
    }
}

#[test]
fn few_rows_divide_the_keys() {
    let Some(device) = device() else { return };
    for dtype in DTYPES {
        for (m, d) in [(1, 128), (9, 200)] {
            attend(&device, Attention::new(), dtype, [m, d], true);
            attend(&device, Attention::new().causal().with_inputs(true, true), dtype, [m, d], false);
        }
    }
}

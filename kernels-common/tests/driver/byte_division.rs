//! Division of bytes, which a recipe of floats computes: every pair against Rust's integers.

use super::{Device, Storage, device};
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, Layout};

fn results(device: &Device, op: BinaryOp, operands: &[[u8; 2]]) -> Vec<u8> {
    let side = |i: usize| -> Storage {
        device.storage_from_slice(&operands.iter().map(|pair| pair[i]).collect::<Vec<u8>>()).unwrap()
    };
    let layout = Layout::contiguous(operands.len());
    side(0).binary(&layout, &side(1), &layout, op).unwrap().to_vec().unwrap()
}

#[test]
fn every_quotient_and_remainder_of_bytes_is_that_of_integers() {
    let Some(device) = device() else { return };
    let pairs: Vec<[u8; 2]> = (0..=u16::MAX).map(u16::to_be_bytes).collect();
    for (ops, of_integers) in [
        ([BinaryOp::Div, BinaryOp::FloorDiv], u8::checked_div as fn(u8, u8) -> Option<u8>),
        ([BinaryOp::Rem, BinaryOp::FloorMod], u8::checked_rem),
    ] {
        let want: Vec<u8> = pairs.iter().map(|&[a, b]| of_integers(a, b).unwrap_or(0)).collect();
        for op in ops {
            for ((got, want), [a, b]) in results(&device, op, &pairs).iter().zip(&want).zip(&pairs) {
                assert_eq!(got, want, "{op} of {a} and {b}");
            }
        }
    }
}

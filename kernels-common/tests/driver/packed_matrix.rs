//! Products with a matrix that is packed once have the bits of those with the matrix, here and on
//! the CPU, whatever its dtype, side and layout.

use super::{Device, Storage, device, fails};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, ErrorKind, Layout, Matmul, MatmulSide, Numerics, Op,
    PackedMatrix, Src, UnaryOp,
};

const BLOCK: Matmul = Matmul::with_numerics(Numerics::Block);
const DTYPES: [DType; 4] = [DType::F8E4M3, DType::BF16, DType::F16, DType::F32];

/// Numbers of mixed sizes, which make some segments wide, and in two places a line special.
fn values(n: usize, dtype: DType, special: bool) -> CpuStorage {
    let of = |i: usize| {
        let bits = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let size = 2f32.powi(-((bits >> 60) as i32) / if i % 512 < 128 { 1 } else { 8 });
        ((bits >> 40) as f32 / (1 << 23) as f32 - 1.0) * size
    };
    let mut all: Vec<f32> = (0..n).map(of).collect();
    if special {
        all[n / 3] = f32::NAN;
        all[n / 2] = f32::INFINITY;
    }
    let layout = Layout::contiguous(n);
    CpuDevice.storage_from_slice(&all).unwrap().to_dtype(&layout, dtype).unwrap()
}

/// The bits of results; all NaNs are one.
fn bits<S: BackendStorage>(storage: &S) -> Vec<u32> {
    let wide = storage.to_dtype(&Layout::contiguous(storage.len()), DType::F32).unwrap();
    let one = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    wide.to_vec::<f32>().unwrap().into_iter().map(one).collect()
}

/// Compares products with the left, the right and both operands packed.
#[track_caller]
fn check(device: &Device, dtype: DType, op: Matmul, special: bool, [a, b]: [&Layout; 2], as_used: [&Layout; 2]) {
    let host = [a, b].map(|l| values(l.required_len().unwrap(), dtype, special));
    let [x, y] = [&host[0], &host[1]].map(|s| device.storage_from_cpu_storage(s).unwrap());
    // The layouts in the products of packed matrices and, of the same elements, of the others.
    let copies = [(&host[0], a), (&host[1], b)].map(|(s, l)| s.try_clone(l).unwrap());
    let want = bits(&copies[0].matmul(as_used[0], &copies[1], as_used[1], op).unwrap());
    let left = PackedMatrix::new(&x, a, MatmulSide::Lhs, op).unwrap();
    let right = PackedMatrix::new(&y, b, MatmulSide::Rhs, op).unwrap();
    assert_eq!(left.has_packed_form(), op == BLOCK && dtype != DType::F64);
    let [plain_x, plain_y] = [(&x, a), (&y, b)].map(|(s, l)| s.try_clone(l).unwrap());
    let plain: [Src<'_, Storage>; 2] = [(&plain_x, as_used[0]).into(), (&plain_y, as_used[1]).into()];
    let packed = [left.as_src_with(as_used[0]), right.as_src_with(as_used[1])];
    for inputs in [plain, [packed[0], plain[1]], [plain[0], packed[1]], packed] {
        let shapes = as_used.map(Layout::shape);
        let shape = Op::Matmul(op).result_shape(&shapes).unwrap().unwrap();
        let mut dst = device.zeros(&shape, dtype).unwrap();
        Storage::apply_into(&Op::Matmul(op), &inputs, &mut dst, &Layout::contiguous(shape)).unwrap();
        assert!(bits(&dst) == want, "{dtype:?}, special: {special}, {} x {}: {inputs:?}", as_used[0], as_used[1]);
    }
}

#[test]
fn packed_matrices_give_the_same_bits() {
    let Some(device) = device() else { return };
    // Tiles, few rows, few columns, ragged k.
    for (m, n, k) in [(70, 66, 300), (3, 130, 129), (67, 5, 128), (16, 17, 1)] {
        let [a, b] = [[m, k], [k, n]].map(Layout::contiguous);
        let turned = [[k, m], [n, k]].map(|dims| Layout::contiguous(dims).transpose(0, 1).unwrap());
        let stepped = [[m, 2 * k], [k, 2 * n]].map(|dims| Layout::contiguous(dims).step(1, 2).unwrap());
        for dtype in DTYPES {
            for special in [false, true] {
                check(&device, dtype, BLOCK, special, [&a, &b], [&a, &b]);
            }
            for [from_a, from_b] in [turned.each_ref(), stepped.each_ref()] {
                check(&device, dtype, BLOCK, false, [from_a, from_b], [&a, &b]);
            }
        }
    }
}

#[test]
fn batches_of_packed_matrices_broadcast_and_may_be_taken_in_part() {
    let Some(device) = device() else { return };
    for (m, n) in [(20, 33), (2, 40)] {
        let k = 130;
        let [a, b] = [[3, m, k], [3, k, n]].map(Layout::contiguous);
        let [one_a, one_b] = [[1, m, k], [1, k, n]].map(Layout::contiguous);
        let [all_a, all_b] = [(&one_a, [3, m, k]), (&one_b, [3, k, n])].map(|(l, dims)| l.broadcast_as(dims).unwrap());
        check(&device, DType::F32, BLOCK, false, [&a, &b], [&a, &b]);
        check(&device, DType::F32, BLOCK, true, [&a, &one_b], [&a, &all_b]);
        check(&device, DType::BF16, BLOCK, false, [&one_a, &b], [&all_a, &b]);
        let [last_a, last_b] = [&a, &b].map(|l| l.narrow(0, 1, 2).unwrap());
        check(&device, DType::F16, BLOCK, false, [&a, &b], [&last_a, &last_b]);
        // Parts of matrices: the elements are used.
        let [rows, cols] = [a.narrow(1, 1, m - 1).unwrap(), b.narrow(2, 0, n - 1).unwrap()];
        check(&device, DType::F32, BLOCK, false, [&a, &b], [&rows, &cols]);
    }
}

#[test]
fn products_with_other_numerics_use_the_elements() {
    let Some(device) = device() else { return };
    let [a, b] = [[20, 30], [30, 20]].map(Layout::contiguous);
    let portable = Matmul::with_numerics(Numerics::Portable);
    check(&device, DType::F32, portable, false, [&a, &b], [&a, &b]);
    let x = device.storage_from_cpu_storage(&values(600, DType::F32, false)).unwrap();
    let packed = PackedMatrix::new(&x, &b, MatmulSide::Rhs, BLOCK).unwrap();
    let mut dst = device.zeros(&[20, 20].into(), DType::F32).unwrap();
    let inputs = [(&x, &a).into(), packed.as_src()];
    Storage::apply_into(&Op::Matmul(portable), &inputs, &mut dst, &Layout::contiguous([20, 20])).unwrap();
    assert_eq!(bits(&dst), bits(&x.matmul(&a, &x, &b, portable).unwrap()));
    let empty = device.zeros(&[0, 4].into(), DType::F32).unwrap();
    let none = PackedMatrix::new(&empty, &Layout::contiguous([0, 4]), MatmulSide::Lhs, BLOCK).unwrap();
    assert!(!none.has_packed_form() && none.bytes() == 0);
}

#[test]
fn wrong_uses_of_packed_matrices_are_errors() {
    let Some(device) = device() else { return };
    let l = Layout::contiguous([20, 20]);
    let x = device.storage_from_cpu_storage(&values(400, DType::F32, false)).unwrap();
    let packed = PackedMatrix::new(&x, &l, MatmulSide::Rhs, BLOCK).unwrap();
    let mut dst = device.zeros(&[20, 20].into(), DType::F32).unwrap();
    let mut run = |inputs: [Src<'_, Storage>; 2]| Storage::apply_into(&Op::Matmul(BLOCK), &inputs, &mut dst, &l);
    fails(run([packed.as_src(), (&x, &l).into()]), ErrorKind::InvalidArgument);
    // A form of another length than the matrix needs.
    let forged = packed.as_src().try_map(|s| Ok(if s.dtype() == DType::U8 { &x } else { s })).unwrap();
    fails(run([(&x, &l).into(), forged]), ErrorKind::InvalidArgument);
    let other = Device::new(0).unwrap();
    let there = other.storage_from_cpu_storage(&values(400, DType::F32, false)).unwrap();
    let there = PackedMatrix::new(&there, &l, MatmulSide::Rhs, BLOCK).unwrap();
    fails(run([(&x, &l).into(), there.as_src()]), ErrorKind::DeviceMismatch);
    fails(Storage::unary_into(UnaryOp::Exp, packed.as_src(), &mut dst, &l), ErrorKind::InvalidArgument);
    fails(x.pack_matrix(&[20, 21].into(), MatmulSide::Lhs, BLOCK), ErrorKind::InvalidArgument);
}

//! Products with a matrix that is packed once have the bits of those with the matrix, here and on
//! the CPU, whatever its dtype, side and layout.

use super::{Device, Storage, bits, device, fails};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, ErrorKind, Layout, Matmul, MatmulSide, Numerics, Op,
    PackedMatrix, Result, Scalar, Src, UnaryOp,
};
use isobit_kernels::launch_sizes;
use std::sync::{Arc, Mutex};

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

/// Compares products with the left, the right and both operands packed, which have packed forms if
/// the numerics and the dtype do.
#[track_caller]
fn check(device: &Device, dtype: DType, op: Matmul, special: bool, layouts: [&Layout; 2], as_used: [&Layout; 2]) {
    let have = op == BLOCK && dtype != DType::F64;
    assert_eq!(compare(device, dtype, op, special, layouts, as_used), [have; 2]);
}

/// Compares products like [`check`]; returns which operands have packed forms.
#[track_caller]
fn compare(
    device: &Device,
    dtype: DType,
    op: Matmul,
    special: bool,
    [a, b]: [&Layout; 2],
    as_used: [&Layout; 2],
) -> [bool; 2] {
    let host = [a, b].map(|l| values(l.required_len().unwrap(), dtype, special));
    let [x, y] = [&host[0], &host[1]].map(|s| device.storage_from_cpu_storage(s).unwrap());
    // The layouts in the products of packed matrices and, of the same elements, of the others.
    let copies = [(&host[0], a), (&host[1], b)].map(|(s, l)| s.try_clone(l).unwrap());
    let want = bits(&copies[0].matmul(as_used[0], &copies[1], as_used[1], op).unwrap());
    let left = PackedMatrix::new(&x, a, MatmulSide::Lhs, op).unwrap();
    let right = PackedMatrix::new(&y, b, MatmulSide::Rhs, op).unwrap();
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
    [left.has_packed_form(), right.has_packed_form()]
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
        // Batches of different ranks, which the product itself broadcasts.
        let flat = Layout::contiguous([k, n]);
        check(&device, DType::F32, BLOCK, false, [&a, &flat], [&a, &flat]);
        check(&device, DType::F16, BLOCK, false, [&one_a, &b], [&one_a, &b]);
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
    // A form of another dtype or of another length than the matrix needs.
    let held = packed.bytes() - x.len() * size_of::<f32>();
    let lengths = [held - 1, held + 1].map(|n| device.zeros(&[n].into(), DType::U8).unwrap());
    for other in [&x, &lengths[0], &lengths[1]] {
        let forged = packed.as_src().try_map(|s| Ok(if s.dtype() == DType::U8 { other } else { s })).unwrap();
        fails(run([(&x, &l).into(), forged]), ErrorKind::InvalidArgument);
    }
    let other = Device::new(0).unwrap();
    let there = other.storage_from_cpu_storage(&values(400, DType::F32, false)).unwrap();
    let there = PackedMatrix::new(&there, &l, MatmulSide::Rhs, BLOCK).unwrap();
    fails(run([(&x, &l).into(), there.as_src()]), ErrorKind::DeviceMismatch);
    fails(Storage::unary_into(UnaryOp::Exp, packed.as_src(), &mut dst, &l), ErrorKind::InvalidArgument);
    fails(x.pack_matrix(&[20, 21].into(), MatmulSide::Lhs, BLOCK), ErrorKind::InvalidArgument);
}

/// While this value lives, launches of this thread are small: what needs huge tensors elsewhere is
/// cut into parts.
struct Small(bool);

impl Small {
    fn new() -> Self {
        Self(launch_sizes::set_small(true))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        launch_sizes::set_small(self.0);
    }
}

#[test]
fn packing_and_products_are_cut_into_parts() {
    let Some(device) = device() else { return };
    let _small = Small::new();
    let exceeded = |name: &str| launch_sizes::all().iter().find(|size| size.name == name).unwrap().reached;
    let before = exceeded("matmul.blocks");
    // Four blocks a launch: nine matrices of one block each, and of three for packing. Tiles, and
    // few rows.
    for (m, n, k) in [(20, 24, 100), (20, 24, 300), (2, 24, 300)] {
        let [a, b] = [[9, m, k], [9, k, n]].map(Layout::contiguous);
        let [one_a, one_b] = [[1, m, k], [1, k, n]].map(Layout::contiguous);
        let [all_a, all_b] = [(&one_a, [9, m, k]), (&one_b, [9, k, n])].map(|(l, dims)| l.broadcast_as(dims).unwrap());
        for dtype in [DType::BF16, DType::F32] {
            check(&device, dtype, BLOCK, false, [&a, &b], [&a, &b]);
            check(&device, dtype, BLOCK, true, [&a, &one_b], [&a, &all_b]);
            check(&device, dtype, BLOCK, true, [&one_a, &b], [&all_a, &b]);
        }
        let [last_a, last_b] = [&a, &b].map(|l| l.narrow(0, 2, 7).unwrap());
        check(&device, DType::F32, BLOCK, false, [&a, &b], [&last_a, &last_b]);
    }
    assert!(exceeded("matmul.blocks") > before);
    // One side is longer than a launch takes, so it has no packed form, and the product is in parts
    // along it, each with the packed form of the other side.
    let before = exceeded("matmul.side");
    for dtype in [DType::BF16, DType::F32] {
        for (m, n) in [(150, 20), (20, 150), (150, 2), (2, 150)] {
            let [a, b] = [[5, m, 140], [5, 140, n]].map(Layout::contiguous);
            let packed = compare(&device, dtype, BLOCK, m == 20, [&a, &b], [&a, &b]);
            assert_eq!(packed, [m < n, n < m]);
        }
    }
    assert!(exceeded("matmul.side") > before);
}

/// A product of two batches of matrices, of which one is packed.
#[derive(Debug, Clone)]
struct OneSide {
    dtype: DType,
    side: MatmulSide,
    /// Of the packed matrices, and of the other operand.
    layouts: [Layout; 2],
    result: Layout,
}

impl OneSide {
    fn all() -> impl Iterator<Item = Self> {
        let (m, k, n) = (20, 300, 24);
        let of = move |dtype, side| {
            let layouts = [[2, m, k], [2, k, n]].map(Layout::contiguous);
            let [left, right] = layouts;
            let layouts = if side == MatmulSide::Lhs { [left, right] } else { [right, left] };
            Self { dtype, side, layouts, result: Layout::contiguous([2, m, n]) }
        };
        [DType::BF16, DType::F32]
            .into_iter()
            .flat_map(move |dtype| [MatmulSide::Lhs, MatmulSide::Rhs].map(|side| of(dtype, side)))
    }

    /// Returns different numbers for each seed, in f32.
    fn values(&self, of: usize, seed: usize) -> Vec<f32> {
        let n = self.layouts[of].elem_count();
        let all = values(n + seed, DType::F32, false).to_vec::<f32>().unwrap();
        all[seed..].iter().map(|x| x * (1.0 + seed as f32)).collect()
    }

    fn on<D: BackendDevice>(&self, device: &D, of: usize, seed: usize) -> D::Storage {
        let storage = device.storage_from_slice(&self.values(of, seed)).unwrap();
        storage.to_dtype(&Layout::contiguous(storage.len()), self.dtype).unwrap()
    }

    /// Returns the bits of the product on the host.
    fn want(&self, seeds: [usize; 2]) -> Vec<u32> {
        let [of, other] = [self.on(&CpuDevice, 0, seeds[0]), self.on(&CpuDevice, 1, seeds[1])];
        let mut dst = CpuDevice.zeros(self.result.shape(), self.dtype).unwrap();
        self.multiply((&of, &self.layouts[0]).into(), &other, &mut dst).unwrap();
        bits(&dst)
    }

    fn pack(&self, matrix: &Storage) -> Result<PackedMatrix<Storage>> {
        PackedMatrix::new(matrix, &self.layouts[0], self.side, BLOCK)
    }

    fn multiply<S: BackendStorage>(&self, of: Src<'_, S>, other: &S, dst: &mut S) -> Result<()> {
        let mut inputs = [(other, &self.layouts[1]).into(); 2];
        inputs[self.side.input()] = of;
        S::apply_into(&Op::Matmul(BLOCK), &inputs, dst, &self.result)
    }
}

#[test]
fn packing_and_products_on_different_streams_are_in_order() {
    let Some(device) = device() else { return };
    let [first, second] = [(); 2].map(|()| device.new_stream().unwrap());
    for one in OneSide::all() {
        let (mut matrix, other) = (one.on(&device, 0, 1), one.on(&device, 1, 2));
        let mut dst = device.zeros(one.result.shape(), one.dtype).unwrap();
        device.synchronize().unwrap();
        let packed = device.with_stream(&first, || one.pack(&matrix)).unwrap();
        // The matrix is overwritten after it was packed, and multiplied after that.
        let zero = Scalar::zero(one.dtype);
        device.with_stream(&second, || matrix.const_set(zero, &one.layouts[0])).unwrap();
        device.with_stream(&second, || one.multiply(packed.as_src(), &other, &mut dst)).unwrap();
        // Its memory is free for the next one, but only after the product.
        drop(packed);
        let next = one.on(&device, 0, 3);
        let packed = device.with_stream(&first, || one.pack(&next)).unwrap();
        let what = format!("{:?}, {:?}", one.dtype, one.side);
        assert!(bits(&dst) == one.want([1, 2]), "{what}");
        device.with_stream(&second, || one.multiply(packed.as_src(), &other, &mut dst)).unwrap();
        assert!(bits(&dst) == one.want([3, 2]), "{what}");
    }
}

#[test]
fn products_with_a_packed_matrix_are_captured_and_so_is_packing() {
    let Some(device) = device() else { return };
    for one in OneSide::all() {
        for packs_in_step in [false, true] {
            let of = |of| device.storage_from_slice(&one.values(of, 0)).map(|s| Arc::new(Mutex::new(s))).unwrap();
            let (matrix, other) = (of(0), of(1));
            let dst = Arc::new(Mutex::new(device.zeros(one.result.shape(), one.dtype).unwrap()));
            let before = one.pack(&one.on(&device, 0, 0)).unwrap();
            let step = {
                let (one, matrix, other, dst) = (one.clone(), matrix.clone(), other.clone(), dst.clone());
                move || {
                    let converted = |storage: &Mutex<Storage>, which: usize| {
                        storage.lock().unwrap().to_dtype(&one.layouts[which], one.dtype)
                    };
                    let other = converted(&other, 1)?;
                    let packed = packs_in_step.then(|| one.pack(&converted(&matrix, 0)?)).transpose()?;
                    let of = packed.as_ref().unwrap_or(&before).as_src();
                    one.multiply(of, &other, &mut dst.lock().unwrap())
                }
            };
            let mut graph = device.capture(step).unwrap();
            for seed in 1..4 {
                matrix.lock().unwrap().write_slice(0, &one.values(0, seed)).unwrap();
                other.lock().unwrap().write_slice(0, &one.values(1, seed)).unwrap();
                graph.replay().unwrap();
                // What was packed before keeps its elements.
                let want = one.want([if packs_in_step { seed } else { 0 }, seed]);
                assert!(bits(&*dst.lock().unwrap()) == want, "{:?}, {:?}, {packs_in_step}", one.dtype, one.side);
            }
        }
    }
}

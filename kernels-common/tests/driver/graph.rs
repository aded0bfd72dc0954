//! Graphs: replays give the bits of the same step on the host, keep what they need alive, and stay
//! in order with other work. Calls that cannot be captured are rejected with the reason.

use super::{Device, Storage, device, fails, works};
use isobit_hal::{
    Affine, BackendDevice, BackendStorage, BinaryOp, CmpOp, Conv2d, CpuDevice, CpuStorage, DType, ErrorKind, Graph,
    Indexing, Layout, Matmul, Numerics, Op, RandUniform, Reduce, ReduceOp, Result, Scalar, Src, UnaryOp,
};
use std::sync::{Arc, Mutex};

const ROWS: usize = 12;
const COLS: usize = 20;

/// The tensors of a step. The host and the device each have one.
struct Net<S> {
    x: S,
    y: S,
    ids: S,
    factor: f64,
}

impl<D: BackendDevice<Storage = S>, S: BackendStorage<Device = D>> Net<S> {
    fn new(device: &D) -> Self {
        let x: Vec<f32> = (0..ROWS * COLS).map(|i| (i as f32 * 0.37).sin()).collect();
        let ids: Vec<u32> = (0..ROWS * COLS).map(|i| (i * 7 % ROWS) as u32).collect();
        Self {
            x: device.storage_from_slice(&x).unwrap(),
            y: device.zeros(&[ROWS, COLS].into(), DType::F32).unwrap(),
            ids: device.storage_from_slice(&ids).unwrap(),
            factor: 0.5,
        }
    }

    /// Operations of every kind: in place, into a given output, with scratch memory, with strides,
    /// and by the driver's own copy and fill. Values stay between -2 and 2.
    fn operation(&mut self, i: usize) -> Result<()> {
        let l = &Layout::contiguous([ROWS, COLS]);
        let turned = &Layout::contiguous([COLS, ROWS]).transpose(0, 1)?;
        let (x, y) = (&mut self.x, &mut self.y);
        match i % 10 {
            0 => S::binary_into(BinaryOp::Add, Src::Storage(x, l), Src::InPlace, y, l),
            1 => S::unary_into(UnaryOp::Tanh, Src::InPlace, y, l),
            2 => S::affine_into(Affine::new(self.factor, 0.25), Src::InPlace, y, l),
            3 => {
                let square = x.matmul(l, y, &Layout::contiguous([ROWS, COLS]).transpose(0, 1)?, PORTABLE)?;
                let product = square.matmul(&Layout::contiguous([ROWS, ROWS]), x, l, PORTABLE)?;
                S::unary_into(UnaryOp::Tanh, Src::Storage(&product, l), y, l)
            }
            4 => {
                let sums = x.reduce(l, &Reduce::new(ReduceOp::Mean, &[1]))?;
                let means = Layout::contiguous([ROWS, 1]).broadcast_as([ROWS, COLS])?;
                S::binary_into(BinaryOp::Sub, Src::InPlace, Src::Storage(&sums, &means), y, l)
            }
            5 => y.softmax_last_dim(l)?.copy_strided_src(x, 0, l),
            6 => {
                let above = x.cmp(l, y, l, CmpOp::Gt)?;
                let larger = above.where_cond(l, x, l, y, l)?;
                S::copy_into(Src::Storage(&larger, turned), x, l)
            }
            7 => x.gather(l, &self.ids, l, 0)?.copy_strided_src(y, 0, l),
            8 => y.to_dtype(l, DType::F16)?.to_dtype(l, DType::F32)?.copy_strided_src(y, 0, l),
            _ => {
                x.const_set(Scalar::F32(0.0), &l.narrow(0, ROWS - 1, 1)?)?;
                y.const_set(Scalar::F32(1.5), &l.narrow(1, 3, 2)?)
            }
        }
    }

    fn all(&mut self) -> Result<()> {
        (0..100).try_for_each(|i| self.operation(i))
    }

    fn bits(&self) -> [Vec<u32>; 2] {
        [&self.x, &self.y].map(|s| s.to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect())
    }
}

const PORTABLE: Matmul = Matmul::with_numerics(Numerics::Portable);

/// Returns a net on the device, which a step and the test share, and one on the host.
fn nets(device: &Device) -> (Arc<Mutex<Net<Storage>>>, Net<CpuStorage>) {
    (Arc::new(Mutex::new(Net::new(device))), Net::new(&CpuDevice))
}

fn capture_all(device: &Device, net: &Arc<Mutex<Net<Storage>>>) -> Graph {
    let net = net.clone();
    device.capture(move || net.lock().unwrap().all()).unwrap()
}

/// The host performs one replay's work, and the bits on both sides must be the same.
#[track_caller]
fn agree(net: &Arc<Mutex<Net<Storage>>>, host: &Net<CpuStorage>) {
    assert!(net.lock().unwrap().bits() == host.bits(), "the device's bits are not the host's");
}

fn inputs(seed: usize) -> Vec<f32> {
    (0..ROWS * COLS).map(|i| ((i * 31 + seed * 17) % 97) as f32 / 50.0 - 1.0).collect()
}

/// What a step takes from a table, and how much.
struct Kept {
    flags: Storage,
    rows: Storage,
    count: Storage,
    inverse: Storage,
}

/// The size of a result is a bound, so a captured step gives as many rows as the flags of each
/// replay select.
#[test]
fn a_selection_replays_with_other_flags() {
    let Some(device) = device() else { return };
    let table: Vec<f32> = (1..=ROWS * COLS).map(|i| i as f32).collect();
    let (line, matrix, one) = (Layout::contiguous(ROWS), Layout::contiguous([ROWS, COLS]), Layout::contiguous(()));
    let on_device = device.storage_from_slice(&table).unwrap();
    let kept = Arc::new(Mutex::new(Kept {
        flags: device.storage_from_slice(&[1u8; ROWS]).unwrap(),
        rows: device.zeros(matrix.shape(), DType::F32).unwrap(),
        count: device.zeros(one.shape(), DType::U32).unwrap(),
        inverse: device.zeros(line.shape(), DType::U32).unwrap(),
    }));
    let step = {
        let kept = kept.clone();
        move || {
            let Kept { flags, rows, count, inverse } = &mut *kept.lock().unwrap();
            let ids = flags.nonzero(&line, ROWS)?;
            let operands = [Src::Storage(&on_device, &matrix), Src::Storage(&ids, &line)];
            Storage::apply_into(&Op::IndexSelect(Indexing::new(0)), &operands, rows, &matrix)?;
            Storage::apply_into(&Op::CountNonzero, &[Src::Storage(flags, &line)], count, &one)?;
            Storage::apply_into(&Op::UniqueInverse, &[Src::Storage(flags, &line)], inverse, &line)
        }
    };
    step().unwrap();
    let mut graph = device.capture(step).unwrap();
    for set in [vec![], vec![0], vec![3, 4, 11], (0..ROWS).collect::<Vec<_>>(), vec![7]] {
        let flags: Vec<u8> = (0..ROWS).map(|row| u8::from(set.contains(&row))).collect();
        kept.lock().unwrap().flags.write_slice(0, &flags).unwrap();
        graph.replay().unwrap();
        let mut want: Vec<f32> = set.iter().flat_map(|&row| table[row * COLS..(row + 1) * COLS].to_vec()).collect();
        want.resize(ROWS * COLS, 0.0);
        let least = flags.iter().min().copied().unwrap_or(0);
        let inverse: Vec<u32> = flags.iter().map(|&flag| u32::from(flag - least)).collect();
        let kept = kept.lock().unwrap();
        assert_eq!(kept.rows.to_vec::<f32>().unwrap(), want, "{set:?}");
        assert_eq!(kept.count.to_vec::<u32>().unwrap(), [set.len() as u32], "{set:?}");
        assert_eq!(kept.inverse.to_vec::<u32>().unwrap(), inverse, "{set:?}");
    }
}

#[test]
fn a_hundred_operations_replay_with_the_bits_of_the_hosts_run() {
    let Some(device) = device() else { return };
    let (net, mut host) = nets(&device);
    let mut graph = capture_all(&device, &net);
    assert!(graph.node_count() >= 100, "{} nodes", graph.node_count());
    agree(&net, &host);
    let before = device.counters();
    for seed in 0..3 {
        net.lock().unwrap().x.write_slice(0, &inputs(seed)).unwrap();
        host.x.write_slice(0, &inputs(seed)).unwrap();
        graph.replay().unwrap();
        host.all().unwrap();
        agree(&net, &host);
    }
    let after = device.counters();
    assert_eq!((after.graph_replays, after.launches), (before.graph_replays + 3, before.launches));
    // The step's operations run between replays, and replays run directly after each other.
    net.lock().unwrap().all().unwrap();
    for _ in 0..2 {
        graph.replay().unwrap();
    }
    (0..3).for_each(|_| host.all().unwrap());
    agree(&net, &host);
}

#[test]
fn a_graph_keeps_what_it_uses_and_gives_it_back() {
    let Some(device) = device() else { return };
    let in_use = device.pool_stats().in_use;
    let (l, n) = (Layout::contiguous(1000), 1000);
    let kept = Arc::new(Mutex::new(Some(device.storage_from_slice(&vec![1.25f32; n]).unwrap())));
    let result = Arc::new(Mutex::new(None));
    let step = {
        let (kept, result, l) = (kept.clone(), result.clone(), l.clone());
        move || {
            let held = kept.lock().unwrap();
            let input = held.as_ref().unwrap();
            // Storages are dropped within the step, and their memory is reused there.
            let mut sum = input.affine(&l, 2.0, 0.0)?;
            for _ in 0..5 {
                sum = sum.affine(&l, 1.0, 1.0)?;
            }
            *result.lock().unwrap() = Some(sum);
            Ok(())
        }
    };
    let mut graph = device.capture(step).unwrap();
    // The user's storage is dropped; others must not get its memory, which would change the result.
    drop(kept.lock().unwrap().take());
    let others: Vec<_> = (0..8).map(|_| device.storage_from_slice(&vec![9e9f32; n]).unwrap()).collect();
    graph.replay().unwrap();
    let result = result.lock().unwrap().take().unwrap();
    assert_eq!(result.to_vec::<f32>().unwrap(), vec![7.5; n]);
    assert!(others.iter().all(|other| other.to_vec::<f32>().unwrap() == vec![9e9; n]));
    drop((graph, others));
    // The memory that the step allocated lives as long as the storage in it.
    let overwritten: Vec<_> = (0..8).map(|_| device.storage_from_slice(&vec![9e9f32; n]).unwrap()).collect();
    assert_eq!(result.to_vec::<f32>().unwrap(), vec![7.5; n]);
    drop((result, overwritten));
    assert_eq!(device.pool_stats().in_use, in_use);
}

#[test]
fn an_update_takes_new_arguments_and_an_error_leaves_the_graph_as_it_was() {
    let Some(device) = device() else { return };
    let (net, mut host) = nets(&device);
    let fail = Arc::new(Mutex::new(false));
    let step = {
        let (net, fail) = (net.clone(), fail.clone());
        move || {
            let mut net = net.lock().unwrap();
            net.all()?;
            if *fail.lock().unwrap() {
                net.x.to_cpu_storage()?;
            }
            // Another number of operations gives another graph topology.
            if net.factor < 0.0 { net.operation(1) } else { Ok(()) }
        }
    };
    let mut graph = device.capture(step).unwrap();
    let nodes = graph.node_count();
    for factor in [0.5, -0.125, 0.75] {
        net.lock().unwrap().factor = factor;
        host.factor = factor;
        graph.update().unwrap();
        assert_eq!(graph.node_count(), nodes + usize::from(factor < 0.0));
        *fail.lock().unwrap() = true;
        net.lock().unwrap().factor = 100.0;
        fails(graph.update(), ErrorKind::CaptureViolation);
        *fail.lock().unwrap() = false;
        for _ in 0..2 {
            graph.replay().unwrap();
            host.all().unwrap();
            if factor < 0.0 {
                host.operation(1).unwrap();
            }
        }
        agree(&net, &host);
    }
}

#[test]
fn a_replay_is_in_order_with_the_work_of_other_streams() {
    let Some(device) = device() else { return };
    let (net, mut host) = nets(&device);
    let [one, two] = [(); 2].map(|()| device.new_stream().unwrap());
    let mut graph = device.with_stream(&one, || Ok(capture_all(&device, &net))).unwrap();
    let mut another = capture_all(&device, &net);
    for (i, stream) in [&two, &one, &two, &two].into_iter().enumerate() {
        let other = if i % 2 == 0 { &one } else { &two };
        device.with_stream(other, || net.lock().unwrap().operation(i)).unwrap();
        device.with_stream(stream, || graph.replay()).unwrap();
        device.with_stream(other, || another.replay()).unwrap();
        net.lock().unwrap().operation(i + 3).unwrap();
        host.operation(i).unwrap();
        (0..2).for_each(|_| host.all().unwrap());
        host.operation(i + 3).unwrap();
    }
    // Replays from another thread, whose work goes to the default stream, while this thread waits
    // for its result.
    std::thread::scope(|scope| scope.spawn(|| graph.replay().unwrap()).join().unwrap());
    host.all().unwrap();
    agree(&net, &host);
    drop((one, two));
    graph.replay().unwrap();
    host.all().unwrap();
    agree(&net, &host);
}

#[test]
fn streams_that_fork_and_join_in_a_capture_belong_to_it() {
    let Some(device) = device() else { return };
    let (mut a, mut b) =
        (device.storage_from_slice(&[1f32; 5000]).unwrap(), device.zeros(&5000.into(), DType::F32).unwrap());
    let (l, own) = (Layout::contiguous(5000), device.clone());
    let (shared, seen) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
    let step = {
        let (seen, shared) = (seen.clone(), shared.clone());
        move || {
            let main = own.current_stream()?;
            let side = main.fork()?;
            let twice = own.with_stream(&side, || a.affine(&l, 2.0, 0.0))?;
            Storage::affine_into(Affine::new(1.0, 1.0), Src::Storage(&a, &l), &mut b, &l)?;
            // Ordered by the uses of the operands, and explicitly.
            own.with_stream(&side, || Storage::affine_into(Affine::new(3.0, 0.0), Src::Storage(&b, &l), &mut a, &l))?;
            let event = own.new_event()?;
            side.record(&event)?;
            main.wait_event(&event)?;
            let sum = twice.binary(&l, &a, &l, BinaryOp::Add)?;
            *seen.lock().unwrap() = Some(fails(event.synchronize(), ErrorKind::CaptureViolation));
            *shared.lock().unwrap() = Some(sum);
            main.join(&side)
        }
    };
    let mut graph = device.capture(step).unwrap();
    assert!(seen.lock().unwrap().is_some());
    let mut a = 1f32;
    for _ in 0..3 {
        graph.replay().unwrap();
        let sum = 2.0 * a + 3.0 * (a + 1.0);
        a = 3.0 * (a + 1.0);
        assert_eq!(shared.lock().unwrap().as_ref().unwrap().to_vec::<f32>().unwrap(), vec![sum; 5000]);
    }
    // A stream that is not joined invalidates the capture, and nothing else.
    let own = device.clone();
    let l = Layout::contiguous(4);
    let one = device.storage_from_slice(&[1f32; 4]).unwrap();
    let left = Arc::new(Mutex::new(None));
    let step = {
        let left = left.clone();
        move || {
            let side = own.current_stream()?.fork()?;
            own.with_stream(&side, || one.affine(&l, 1.0, 1.0))?;
            *left.lock().unwrap() = Some(side);
            Ok(())
        }
    };
    fails(device.capture(step), ErrorKind::CaptureViolation);
    let side = left.lock().unwrap().take().unwrap();
    device
        .with_stream(&side, || {
            works(&device);
            Ok(())
        })
        .unwrap();
    works(&device);
}

/// Captures a step that makes a forbidden call after an allowed one, on the default stream and on
/// another.
#[track_caller]
fn refused(device: &Device, reason: &str, step: impl Fn(&Device, &mut Storage) -> Result<()> + Send + Clone + 'static) {
    let l = Layout::contiguous(100);
    for stream in [device.default_stream().unwrap(), device.new_stream().unwrap()] {
        let mut storage = device.storage_from_slice(&[1f32; 100]).unwrap();
        let (own, step, l) = (device.clone(), step.clone(), l.clone());
        let captured = device.with_stream(&stream, || {
            device.capture(move || {
                Storage::affine_into(Affine::new(1.0, 1.0), Src::InPlace, &mut storage, &l)?;
                step(&own, &mut storage)
            })
        });
        let error = fails(captured, ErrorKind::CaptureViolation);
        assert!(error.message().contains(reason), "{error}");
        assert!(error.device().is_some(), "{error}");
        stream.synchronize().unwrap();
        device
            .with_stream(&stream, || {
                works(device);
                Ok(())
            })
            .unwrap();
    }
    device.synchronize().unwrap();
}

#[test]
fn what_cannot_be_captured_is_refused_with_the_reason() {
    let Some(device) = device() else { return };
    refused(&device, "waiting for the device cannot be captured", |device, _| device.synchronize());
    refused(&device, "waiting for a stream", |device, _| device.current_stream()?.synchronize());
    refused(&device, "asking whether a stream is done", |device, _| device.current_stream()?.query().map(drop));
    refused(&device, "reading a storage", |_, storage| storage.to_cpu_storage().map(drop));
    refused(&device, "memory that is not pinned", |_, storage| storage.write_slice(0, &[2f32; 10]));
    refused(&device, "memory that is not pinned", |device, _| device.storage_from_slice(&[2f32; 10]).map(drop));
    refused(&device, "cannot be captured within another", |device, _| device.capture(|| Ok(())).map(drop));
    refused(&device, "recorded in a capture", |device, _| {
        let (from, to) = (device.new_event()?, device.new_event()?);
        device.current_stream()?.record(&from)?;
        device.current_stream()?.record(&to)?;
        from.elapsed_time(&to).map(drop)
    });
    let graph = Arc::new(Mutex::new(device.capture(|| Ok(())).unwrap()));
    let replayed = graph.clone();
    refused(&device, "replaying a graph", move |_, _| replayed.lock().unwrap().replay());
    refused(&device, "updating a graph", move |_, _| graph.lock().unwrap().update());
}

#[test]
fn a_step_that_fails_or_panics_leaves_the_stream_as_it_was() {
    let Some(device) = device() else { return };
    let in_use = device.pool_stats().in_use;
    let (l, one) = (Layout::contiguous(100), device.storage_from_slice(&[1f32; 100]).unwrap());
    let one = Arc::new(one);
    let failing = {
        let (one, l) = (one.clone(), l.clone());
        move || {
            one.affine(&l, 2.0, 0.0)?;
            one.affine(&Layout::contiguous(101), 2.0, 0.0).map(drop)
        }
    };
    fails(device.capture(failing), ErrorKind::InvalidArgument);
    works(&device);
    let panicking = {
        let (own, one, l) = (device.clone(), one.clone(), l.clone());
        std::panic::AssertUnwindSafe(move || {
            own.capture(move || {
                one.affine(&l, 2.0, 0.0)?;
                panic!("of the step's own")
            })
        })
    };
    let said = std::panic::catch_unwind(panicking).unwrap_err();
    assert_eq!(said.downcast_ref(), Some(&"of the step's own"));
    works(&device);
    device.synchronize().unwrap();
    drop(one);
    assert_eq!(device.pool_stats().in_use, in_use);
}

#[test]
fn ids_out_of_range_in_a_replay_are_reported_with_their_operation() {
    let Some(device) = device() else { return };
    let rows = device.storage_from_slice(&[1f32, 2.0, 3.0, 4.0]).unwrap();
    let ids = Arc::new(Mutex::new(device.storage_from_slice(&[0u32, 1, 2]).unwrap()));
    let out = Arc::new(Mutex::new(device.zeros(&3.into(), DType::F32).unwrap()));
    let (l, three) = (Layout::contiguous(4), Layout::contiguous(3));
    let step = {
        let (ids, out) = (ids.clone(), out.clone());
        move || {
            let ids = ids.lock().unwrap();
            let found = rows.gather(&l, &ids, &three, 0)?;
            let mut sums = found.affine(&three, 1.0, 0.0)?;
            sums.scatter_add_set(&three, &ids, &three, &found, &three, 0)?;
            sums.copy_strided_src(&mut out.lock().unwrap(), 0, &three)
        }
    };
    let mut graph = device.capture(step).unwrap();
    let other = device.new_stream().unwrap();
    for on_other in [false, true] {
        let stream = if on_other { other.clone() } else { device.default_stream().unwrap() };
        let mut replay = |values: [u32; 3]| {
            ids.lock().unwrap().write_slice(0, &values).unwrap();
            device.with_stream(&stream, || graph.replay()).unwrap();
        };
        replay([2, 1, 0]);
        device.synchronize().unwrap();
        for _ in 0..2 {
            // First an index out of range only for the gather, then for both operations.
            replay([0, 3, 1]);
            let error = fails(stream.synchronize(), ErrorKind::IndexOutOfRange);
            assert_eq!(error.op(), Some(Op::ScatterAdd(Indexing::new(0)).name()), "{error}");
            replay([0, 1, 7]);
            let error = fails(device.synchronize(), ErrorKind::IndexOutOfRange);
            assert_eq!(error.op(), Some(Op::Gather(Indexing::new(0)).name()), "{error}");
            let error = fails(device.synchronize(), ErrorKind::IndexOutOfRange);
            assert_eq!(error.op(), Some(Op::ScatterAdd(Indexing::new(0)).name()), "{error}");
            device.synchronize().unwrap();
        }
        replay([1, 0, 2]);
        assert_eq!(out.lock().unwrap().to_vec::<f32>().unwrap(), [2.0 + 1.0, 1.0 + 2.0, 3.0 + 3.0]);
    }
    // A fault of a replay is reported even after the graph is dropped.
    ids.lock().unwrap().write_slice(0, &[9u32, 0, 0]).unwrap();
    graph.replay().unwrap();
    drop(graph);
    fails(device.synchronize(), ErrorKind::IndexOutOfRange);
    fails(device.synchronize(), ErrorKind::IndexOutOfRange);
    device.synchronize().unwrap();
    works(&device);
}

#[test]
fn products_and_convolutions_of_the_vendor_and_random_numbers_are_captured() {
    let Some(device) = device() else { return };
    // Small integers are exact in any order, so the vendor's result equals the portable result on
    // the host.
    let small = |n: usize, m: usize| (0..n).map(|i| (i % m) as f32 - 3.0).collect::<Vec<_>>();
    let (a, k) = (small(2 * 8 * 9 * 9, 7), small(4 * 8 * 3 * 3, 5));
    let run = |a: &dyn Fn(Numerics) -> Vec<f32>| [a(Numerics::Vendor), a(Numerics::Portable)];
    let (image, kernel) = (Layout::contiguous([2, 8, 9, 9]), Layout::contiguous([4, 8, 3, 3]));
    let (lhs, rhs) = (Layout::contiguous([8, 81]), Layout::contiguous([8, 81]).transpose(0, 1).unwrap());
    let conv = |numerics| {
        let mut op = Conv2d::default().with_padding([1, 1]);
        op.numerics = Some(numerics);
        op
    };
    let [vendor, portable] = run(&|numerics| {
        let (a, k) = (device.storage_from_slice(&a).unwrap(), device.storage_from_slice(&k).unwrap());
        // Libraries search for plans and create handles at first use, outside of captures.
        a.conv2d(&image, &k, &kernel, conv(numerics)).unwrap();
        a.matmul(&lhs, &a, &rhs, Matmul::with_numerics(numerics)).unwrap();
        let out = Arc::new(Mutex::new(device.zeros(&(2 * 4 * 81 + 64).into(), DType::F32).unwrap()));
        let step = {
            let (out, image, kernel, lhs, rhs) = (out.clone(), image.clone(), kernel.clone(), lhs.clone(), rhs.clone());
            move || {
                let out = &mut *out.lock().unwrap();
                a.conv2d(&image, &k, &kernel, conv(numerics))?.copy_strided_src(out, 0, &Layout::contiguous(648))?;
                let product = a.matmul(&lhs, &a, &rhs, Matmul::with_numerics(numerics))?;
                product.copy_strided_src(out, 648, &Layout::contiguous(64))
            }
        };
        let mut graph = device.capture(step).unwrap();
        for _ in 0..2 {
            out.lock().unwrap().const_set(Scalar::F32(f32::NAN), &Layout::contiguous(712)).unwrap();
            graph.replay().unwrap();
        }
        out.lock().unwrap().to_vec::<f32>().unwrap()
    });
    assert_eq!(vendor, portable);
    let expected = CpuDevice.storage_from_slice(&a).unwrap();
    let filter = CpuDevice.storage_from_slice(&k).unwrap();
    let expected = expected.conv2d(&image, &filter, &kernel, conv(Numerics::Portable)).unwrap();
    assert_eq!(portable[..648], expected.to_vec::<f32>().unwrap());

    // The position of a draw in its sequence is fixed by the capture.
    let l = Layout::contiguous(1000);
    let out = Arc::new(Mutex::new(device.zeros(&1000.into(), DType::F32).unwrap()));
    for numerics in [Numerics::Portable, Numerics::Vendor] {
        let draw = Op::RandUniform(RandUniform::new(0.0, 1.0).at(5, 300).with_numerics(numerics));
        let step = {
            let (out, l) = (out.clone(), l.clone());
            move || Storage::apply_into(&draw, &[], &mut out.lock().unwrap(), &l)
        };
        let mut graph = device.capture(step).unwrap();
        let mut host = CpuDevice.zeros(&1000.into(), DType::F32).unwrap();
        let portable = Op::RandUniform(RandUniform::new(0.0, 1.0).at(5, 300));
        CpuStorage::apply_into(&portable, &[], &mut host, &l).unwrap();
        for _ in 0..2 {
            graph.replay().unwrap();
            assert_eq!(out.lock().unwrap().to_vec::<f32>().unwrap(), host.to_vec::<f32>().unwrap(), "{numerics:?}");
        }
    }
}

#[test]
fn pinned_copies_are_captured_and_the_host_waits_for_replays() {
    let Some(device) = device() else { return };
    let bytes = 4 * 3000;
    let (mut from, to) = (device.alloc_pinned(bytes).unwrap(), device.alloc_pinned(bytes).unwrap());
    from.as_mut_slice::<f32>().unwrap().fill(1.0);
    let (from, to) = (Arc::new(Mutex::new(from)), Arc::new(Mutex::new(to)));
    let mut storage = device.zeros(&3000.into(), DType::F32).unwrap();
    let step = {
        let (from, to, l) = (from.clone(), to.clone(), Layout::contiguous(3000));
        move || {
            storage.copy_from_pinned(0, &from.lock().unwrap(), 0..bytes)?;
            Storage::affine_into(Affine::new(2.0, 1.0), Src::InPlace, &mut storage, &l)?;
            storage.copy_to_pinned(0, &mut to.lock().unwrap(), 0..bytes)
        }
    };
    let mut graph = device.capture(step).unwrap();
    for value in [3.0f32, 4.0, 5.0] {
        from.lock().unwrap().as_mut_slice::<f32>().unwrap().fill(value);
        graph.replay().unwrap();
        // Immediately: the replay may not have started.
        from.lock().unwrap().as_mut_slice::<f32>().unwrap().fill(f32::NAN);
        assert_eq!(to.lock().unwrap().as_slice::<f32>().unwrap(), [2.0 * value + 1.0; 3000]);
    }
}

#[test]
fn a_graph_outlives_its_devices_handles() {
    let Some(device) = device() else { return };
    let (net, mut host) = nets(&device);
    let mut graph = capture_all(&device, &net);
    drop(device);
    graph.replay().unwrap();
    host.all().unwrap();
    agree(&net, &host);
    graph.replay().unwrap();
    // Dropped while it may be running.
    drop(graph);
    host.all().unwrap();
    agree(&net, &host);
}

//! Uploads from pinned memory on one stream while another computes: `cargo run --release --example
//! two_streams --features cuda,rocm -- cuda:0`. The default device is the CPU; there, as on every
//! device without concurrent streams, all streams run in one order. The same program runs on a
//! simulated GPU if `LD_LIBRARY_PATH` (and `ROCM_PATH`) are set as in `docs/simulated-gpus.md`.

use isobit::{
    AnyDevice, AnyStorage, BackendDevice, BackendStorage, BinaryOp, DType, Layout, Op, PinnedBuffer, Result, Shape,
    Src, Stream, UnaryOp,
};

const CHUNKS: usize = 8;
/// How often a chunk's squares are added, so that there is enough work to hide an upload.
const ADDITIONS: usize = 8;

/// Returns small integers, so that every sum below is exact in f32.
fn value(chunk: usize, i: usize) -> f32 {
    ((i + 3 * chunk) % 16) as f32
}

/// The buffers of a chunk. There are two: one is used for computing while the other is uploaded.
struct Turn {
    pinned: PinnedBuffer,
    chunk: AnyStorage,
}

/// Sums the squares of all chunks. Returns the sums and the device time in milliseconds, measured
/// with events on its streams.
fn run(device: &AnyDevice, uploads: &Stream, computes: &Stream, len: usize) -> Result<(Vec<f32>, f32)> {
    let (shape, layout) = (Shape::from(len), Layout::contiguous(len));
    let turn = || Ok(Turn { pinned: device.alloc_pinned(4 * len)?, chunk: device.zeros(&shape, DType::F32)? });
    let mut turns = [turn()?, turn()?];
    let mut sums = device.zeros(&shape, DType::F32)?;
    device.synchronize()?;
    let (start, end) = (device.new_event()?, device.new_event()?);
    uploads.record(&start)?;
    for i in 0..CHUNKS {
        let Turn { pinned, chunk } = &mut turns[i % 2];
        // Waits only for the copy that last read these bytes.
        for (j, x) in pinned.as_mut_slice::<f32>()?.iter_mut().enumerate() {
            *x = value(i, j);
        }
        // Buffers track their last uses, so no explicit waits between the streams are needed.
        device.with_stream(uploads, || chunk.copy_from_pinned(0, pinned, 0..4 * len))?;
        device.with_stream(computes, || {
            BackendStorage::unary_into(UnaryOp::Sqr, Src::InPlace, chunk, &layout)?;
            for _ in 0..ADDITIONS {
                let operands = [Src::InPlace, Src::Storage(&*chunk, &layout)];
                BackendStorage::apply_into(&Op::Binary(BinaryOp::Add), &operands, &mut sums, &layout)?;
            }
            Ok(())
        })?;
    }
    computes.record(&end)?;
    let elapsed = start.elapsed_time(&end)?;
    Ok((sums.to_vec()?, elapsed))
}

fn main() -> Result<()> {
    let device = AnyDevice::open(std::env::args().nth(1).as_deref().unwrap_or("cpu"))?;
    let info = device.info()?;
    let streams = if info.capabilities.concurrent_streams { "concurrent streams" } else { "one order of work" };
    println!("{}: {} ({}), {streams}", device.location(), info.name, info.arch);
    // A simulated GPU interprets each instruction, so it gets smaller chunks.
    let len = if info.simulated { 1 << 12 } else { 1 << 22 };

    let default = device.default_stream()?;
    let other = device.new_stream()?;
    // The first run loads the kernels and fills the pool.
    run(&device, &default, &default, len)?;
    let (one, in_order) = run(&device, &default, &default, len)?;
    let (two, side_by_side) = run(&device, &other, &default, len)?;

    let expected = |i| (0..CHUNKS).map(|chunk| ADDITIONS as f32 * value(chunk, i).powi(2)).sum::<f32>();
    assert!((0..len).all(|i| one[i] == expected(i) && two[i] == expected(i)));
    println!("{CHUNKS} chunks of {len} numbers: {in_order:.2} ms on one stream, {side_by_side:.2} ms on two");
    Ok(())
}

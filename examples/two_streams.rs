//! Uploads on one stream from pinned memory while another computes: `cargo run --release --example
//! two_streams --features cuda,rocm -- cuda:0`. The device is the host where none is named; there,
//! as on every device with one order of work, a stream is a name for it. On a simulated GPU the
//! same program runs with `LD_LIBRARY_PATH` (and `ROCM_PATH`) set as the README says.

use isobit::{
    AnyDevice, AnyStorage, BackendDevice, BackendStorage, BinaryOp, DType, Layout, Op, PinnedBuffer, Result, Shape,
    Src, Stream, UnaryOp,
};

const CHUNKS: usize = 8;
/// How often a chunk's squares are added: work beside which an upload can hide.
const ADDITIONS: usize = 8;

/// Small whole numbers, so that every sum below is exact in f32.
fn value(chunk: usize, i: usize) -> f32 {
    ((i + 3 * chunk) % 16) as f32
}

/// What two chunks take turns in: one is computed with while the other is uploaded.
struct Turn {
    pinned: PinnedBuffer,
    chunk: AnyStorage,
}

/// Sums up the squares of all chunks. Returns the sums and how many milliseconds the device took,
/// as events on its streams tell.
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
        // Waits for the copy that last read these bytes, and for nothing else.
        for (j, x) in pinned.as_mut_slice::<f32>()?.iter_mut().enumerate() {
            *x = value(i, j);
        }
        // A buffer knows what was last done to it, so neither stream has to be told to wait for the
        // other.
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
    let streams = if info.capabilities.concurrent_streams { "streams side by side" } else { "one order of work" };
    println!("{}: {} ({}), {streams}", device.location(), info.name, info.arch);
    // A simulated GPU executes instruction by instruction.
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

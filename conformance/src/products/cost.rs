//! What block products cost the CPU reference, against its chains.

use super::inputs::Inputs;
use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, Error, ErrorKind, Layout, Matmul, Numerics, Result};
use std::fmt::Write;
use std::time::Instant;

/// Timings of each product; the median counts.
const TIMINGS: usize = 5;
/// The least seconds of a timing, which repeats short products.
const SECONDS: f64 = 0.05;

/// The m, k and n that are measured: two cubes and a row times a matrix.
const SIDES: [[usize; 3]; 3] = [[512; 3], [1024; 3], [1, 4096, 4096]];
const DTYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];
/// Inputs of like size, and inputs of which nearly all segments are wide.
const INPUTS: [Inputs; 2] = [Inputs::Gaussian, Inputs::Phi(2)];

/// The time of a product.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The dtype.
    pub dtype: DType,
    /// m, k and n.
    pub sides: [usize; 3],
    /// The distribution of the operands.
    pub inputs: Inputs,
    /// Seconds as chains and as blocks.
    pub seconds: [f64; 2],
}

/// Measures the CPU reference on some threads.
///
/// # Errors
/// Fails if the threads cannot be started.
pub fn measure(threads: usize, row: impl FnMut(&Row) + Send) -> Result<Vec<Row>> {
    let failed = |e| Error::new(ErrorKind::Other, format!("cannot start {threads} threads")).with_source(e);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(failed)?;
    pool.install(|| measured(row))
}

fn measured(mut row: impl FnMut(&Row)) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for dtype in DTYPES {
        for (sides, inputs) in SIDES.into_iter().flat_map(|sides| INPUTS.map(|inputs| (sides, inputs))) {
            let seconds = times(dtype, sides, inputs)?;
            let measured = Row { dtype, sides, inputs, seconds };
            row(&measured);
            rows.push(measured);
        }
    }
    Ok(rows)
}

/// Returns the seconds of a product as chains and as blocks, measured in turns.
fn times(dtype: DType, sides: [usize; 3], inputs: Inputs) -> Result<[f64; 2]> {
    let [m, k, n] = sides;
    let mut storages = Vec::new();
    for lines in inputs.draw(0, sides) {
        let storage = CpuDevice.storage_from_slice(&lines)?;
        storages.push(storage.to_dtype(&Layout::contiguous(lines.len()), dtype)?);
    }
    let (left, right) = (Layout::contiguous([m, k]), Layout::contiguous([n, k]).transpose(0, 1)?);
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..=TIMINGS {
        for (numerics, times) in [Numerics::Portable, Numerics::Block].into_iter().zip(&mut times) {
            let (start, mut products) = (Instant::now(), 0);
            while products == 0 || start.elapsed().as_secs_f64() < SECONDS {
                storages[0].matmul(&left, &storages[1], &right, Matmul::with_numerics(numerics))?;
                products += 1;
            }
            // The first turn warms up.
            if turn > 0 {
                times.push(start.elapsed().as_secs_f64() / f64::from(products));
            }
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }))
}

/// Returns the table in Markdown.
pub fn table(rows: &[Row], threads: usize) -> String {
    let mut out = format!(
        "Milliseconds of a product on the CPU, {} threads: the median of {TIMINGS}.\n\n\
         | dtype | m x k x n | inputs | chain | block | block : chain |\n|---|---|---|---|---|---|\n",
        threads
    );
    for row in rows {
        let ([m, k, n], [chain, block]) = (row.sides, row.seconds);
        let _ = writeln!(
            out,
            "| {} | {m} x {k} x {n} | {} | {:.2} | {:.2} | {:.2} |",
            row.dtype,
            row.inputs.name(),
            chain * 1e3,
            block * 1e3,
            block / chain
        );
    }
    out
}

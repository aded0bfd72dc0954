//! Times models of candle on a GPU and prints one line of JSON for each: its name, the median time
//! in milliseconds, and tokens or samples a second. It names candle alone, so the same source runs
//! with candle's own CUDA and with Isobit: `isobit-candle-speed [NAME...]`.

mod language;
mod models;
mod small;

use anyhow::Result;
use candle_core::Device;
use std::time::Instant;

/// Runs of a measurement, without those to warm up.
const RUNS: usize = 7;

/// One measurement.
pub struct Row {
    name: String,
    milliseconds: f64,
    /// Tokens, samples or operations of a run.
    count: usize,
    unit: &'static str,
}

/// What a measurement counts.
#[derive(Clone, Copy, PartialEq)]
pub enum Until {
    /// Until the device is idle.
    Done,
    /// Until the last call has returned: what the host costs.
    Enqueued,
}

/// Measures what `run` does, with the device idle before it.
pub fn measure(
    name: impl Into<String>,
    (count, unit): (usize, &'static str),
    until: Until,
    device: &Device,
    mut run: impl FnMut() -> candle_core::Result<()>,
) -> Result<Row> {
    let mut times = Vec::new();
    for _ in 0..RUNS + 2 {
        device.synchronize()?;
        let began = Instant::now();
        run()?;
        let enqueued = began.elapsed();
        device.synchronize()?;
        let time = if until == Until::Enqueued { enqueued } else { began.elapsed() };
        times.push(time.as_secs_f64() * 1e3);
    }
    // The first two load kernels and fill the memory pools.
    let mut times = times.split_off(2);
    times.sort_by(f64::total_cmp);
    Ok(Row { name: name.into(), milliseconds: times[times.len() / 2], count, unit })
}

/// A family of measurements: its name, and what it measures.
type Family = (&'static str, fn(&Device, &mut dyn FnMut(Row)) -> Result<()>);

const FAMILIES: &[Family] = &[
    ("small", small::run),
    ("training", small::training),
    ("bert", models::bert),
    ("resnet", models::resnet),
    ("llama-1b", |device, row| language::llama("1b", device, row)),
    ("llama-1b-q4k", |device, row| language::quantized("1b", device, row)),
    ("llama-8b", |device, row| language::llama("8b", device, row)),
    ("llama-8b-q4k", |device, row| language::quantized("8b", device, row)),
];

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let device = Device::new_cuda(0)?;
    for (name, run) in FAMILIES {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let mut print = |row: Row| {
            let rate = row.count as f64 / row.milliseconds * 1e3;
            println!(r#"{{"name":"{}","ms":{:.4},"{} per second":{rate:.1}}}"#, row.name, row.milliseconds, row.unit);
        };
        if let Err(e) = run(&device, &mut print) {
            println!(r#"{{"name":"{name}","error":{:?}}}"#, e.to_string());
        }
    }
    Ok(())
}

//! Training on the device: the loss falls, and with portable numerics the trained weights have the
//! same bits on every device.

use anyhow::{Result, ensure};
use isobit_candle_proofs::{compare, device, training};

#[test]
fn adamw_for_200_steps() -> Result<()> {
    let device = device()?;
    let (net, first, last) = training::train(200, &device)?;
    println!("loss {first} to {last}");
    ensure!(last < 0.1 * first, "the loss fell from {first} to {last} only");
    compare::same_bits("training", &device, &net.weights())
}

//! What the host costs: a chain of small operations, and a training step of a small net.

use crate::{Row, Until, measure};
use anyhow::Result;
use candle_core::{DType, Device, Tensor, Var};
use candle_nn::{AdamW, Optimizer as _, ParamsAdamW, loss};

const CHAIN: usize = 1000;

/// A chain of 1000 additions, multiplications and other operations on 1024 numbers.
pub fn run(device: &Device, row: &mut dyn FnMut(Row)) -> Result<()> {
    let x = Tensor::ones((32, 32), DType::F32, device)?;
    let y = (&x * 0.5)?;
    let chain = || {
        let mut z = x.clone();
        for i in 0..CHAIN {
            z = match i % 4 {
                0 => (&z + &y)?,
                1 => (&z * &y)?,
                2 => z.relu()?,
                _ => z.affine(0.5, 0.25)?,
            };
        }
        candle_core::Result::Ok(())
    };
    row(measure("1000 small operations, host", (CHAIN, "operations"), Until::Enqueued, device, chain)?);
    row(measure("1000 small operations", (CHAIN, "operations"), Until::Done, device, chain)?);
    let products = || {
        let mut z = x.clone();
        for _ in 0..CHAIN {
            z = z.matmul(&y)?;
        }
        candle_core::Result::Ok(())
    };
    row(measure("1000 small products, host", (CHAIN, "operations"), Until::Enqueued, device, products)?);
    row(measure("1000 small products", (CHAIN, "operations"), Until::Done, device, products)?);
    Ok(())
}

/// A training step of a small convolutional net with 64 images of 28 x 28.
pub fn training(device: &Device, row: &mut dyn FnMut(Row)) -> Result<()> {
    let variable = |shape: &[usize]| Var::randn(0f32, 0.1, shape, device);
    let (conv1, conv2) = (variable(&[16, 1, 3, 3])?, variable(&[32, 16, 3, 3])?);
    let (linear, bias) = (variable(&[32 * 7 * 7, 10])?, variable(&[10])?);
    let images = Tensor::randn(0f32, 1.0, (64, 1, 28, 28), device)?;
    let labels = Tensor::new((0..64u32).map(|i| i % 10).collect::<Vec<_>>(), device)?;
    let variables = vec![conv1.clone(), conv2.clone(), linear.clone(), bias.clone()];
    let mut optimizer = AdamW::new(variables, ParamsAdamW::default())?;
    let step = || {
        let x = images.conv2d(&conv1, 1, 1, 1, 1)?.relu()?.max_pool2d(2)?;
        let x = x.conv2d(&conv2, 1, 1, 1, 1)?.relu()?.max_pool2d(2)?;
        let logits = x.flatten_from(1)?.matmul(&linear)?.broadcast_add(&bias)?;
        optimizer.backward_step(&loss::cross_entropy(&logits, &labels)?)
    };
    row(measure("training step, small net, 64 x 28 x 28", (64, "samples"), Until::Done, device, step)?);
    Ok(())
}

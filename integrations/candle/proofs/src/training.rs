//! Training of a small convolutional net by candle-nn's AdamW, from weights of a seed.

use crate::weights::tensor;
use candle_core::{Device, Result, Tensor, Var};
use candle_nn::{AdamW, Optimizer as _, ParamsAdamW, loss};

/// Samples of a batch; the batch is the same in each step.
const SAMPLES: usize = 8;
const CLASSES: usize = 4;

/// A net of two convolutions and a linear layer.
pub struct Net {
    variables: Vec<Var>,
}

impl Net {
    /// Makes the net on a device.
    ///
    /// # Errors
    /// Those of the device.
    pub fn new(device: &Device) -> Result<Self> {
        let variable = |name: &str, shape: &[usize], fan_in: usize| {
            Var::from_tensor(&tensor(name, shape, (3.0 / fan_in as f32).sqrt(), 0.0, device)?)
        };
        let variables = vec![
            variable("conv 1", &[4, 1, 3, 3], 9)?,
            variable("conv 1 bias", &[1, 4, 1, 1], 9)?,
            variable("conv 2", &[8, 4, 3, 3], 36)?,
            variable("conv 2 bias", &[1, 8, 1, 1], 36)?,
            variable("linear", &[32, CLASSES], 32)?,
            variable("linear bias", &[CLASSES], 32)?,
        ];
        Ok(Self { variables })
    }

    /// Returns the logits of some images, `[samples, 1, 8, 8]`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn forward(&self, images: &Tensor) -> Result<Tensor> {
        let [conv1, bias1, conv2, bias2, linear, bias] = &self.variables[..] else {
            unreachable!("the net has six variables");
        };
        let x = images.conv2d(conv1, 1, 1, 1, 1)?.broadcast_add(bias1)?.relu()?.max_pool2d(2)?;
        let x = x.conv2d(conv2, 0, 1, 1, 1)?.broadcast_add(bias2)?.gelu()?;
        x.flatten_from(1)?.matmul(linear)?.broadcast_add(bias)
    }

    /// Returns the weights.
    pub fn weights(&self) -> Vec<&Tensor> {
        self.variables.iter().map(|variable| variable.as_tensor()).collect()
    }
}

/// Trains for some steps, and returns the net and the losses of the first and the last step.
///
/// # Errors
/// Those of the device.
pub fn train(steps: usize, device: &Device) -> Result<(Net, f32, f32)> {
    let net = Net::new(device)?;
    let images = tensor("training images", (SAMPLES, 1, 8, 8), 1.0, 0.0, device)?;
    let labels: Vec<u32> = (0..SAMPLES as u32).map(|i| i % CLASSES as u32).collect();
    let labels = Tensor::new(labels, device)?;
    let parameters = ParamsAdamW { lr: 0.01, ..Default::default() };
    let mut optimizer = AdamW::new(net.variables.clone(), parameters)?;
    let (mut first, mut last) = (None, 0.0);
    for _ in 0..steps {
        let loss = loss::cross_entropy(&net.forward(&images)?, &labels)?;
        optimizer.backward_step(&loss)?;
        last = loss.to_scalar::<f32>()?;
        first.get_or_insert(last);
    }
    Ok((net, first.unwrap_or(last), last))
}

//! A set of buffers on a device, and a copy on the CPU on which every step is repeated: it gives
//! the contents that the device must have in the end.

use super::case::{Case, Checked, ensure};
use super::step::{Buffers, Step, equal, perform};
use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, Layout, Result};

/// The dtypes of programs: few, so that few modules are loaded.
const DTYPES: [DType; 6] = [DType::F32, DType::F16, DType::BF16, DType::I32, DType::U8, DType::I64];
/// The sides of the square matrices in the buffers, around the granularity of the kernels.
const SIDES: [usize; 8] = [1, 3, 8, 16, 17, 31, 32, 40];

/// The buffers of a program.
pub(crate) struct Mirror<D: BackendDevice> {
    pub device: D,
    pub buffers: Buffers<D::Storage>,
    /// The contents that they must have.
    pub expected: Buffers<CpuStorage>,
    pub shape: Form,
}

/// The shape and dtypes of a program's buffers.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// The side of the square matrices in the buffers.
    pub side: usize,
    /// The dtypes of the buffers; at least two buffers have each dtype.
    pub dtypes: Vec<DType>,
    /// The number of the last buffer: `side` indices below `side`, which no step writes.
    pub ids: usize,
}

impl Form {
    /// Returns the layout of a whole buffer.
    pub(crate) fn whole(&self) -> Layout {
        Layout::contiguous([self.side, self.side])
    }

    pub(crate) fn draw<D: BackendDevice>(case: &mut Case<'_, D>) -> Self {
        let side = case.draw.one_of(&SIDES);
        let pairs = case.between(2, 3);
        let dtypes: Vec<DType> = (0..pairs).flat_map(|_| [case.draw.one_of(&DTYPES); 2]).collect();
        Self { side, ids: dtypes.len(), dtypes }
    }
}

/// Draws numbers of a dtype, most of them small.
pub(crate) fn numbers<D: BackendDevice>(case: &mut Case<'_, D>, dtype: DType, count: usize) -> Checked<CpuStorage> {
    // A quarter of an integer is exact in every float, including f8e4m3.
    let step = case.between(1, 7) as i64;
    let start = case.between(0, 50) as i64;
    let spread = |i: usize| ((start + i as i64 * step) % 33 - 16) as f32 * 0.25;
    let values: Vec<f32> = (0..count).map(spread).collect();
    let values = CpuDevice.storage_from_slice(&values)?;
    let layout = Layout::contiguous([count]);
    // Integers stay distinct.
    let scale = if dtype.is_int() { 4.0 } else { 1.0 };
    Ok(values.affine(&layout, scale, 0.0)?.to_dtype(&layout, dtype)?)
}

impl<D: BackendDevice> Mirror<D> {
    /// Draws buffers for a case, on its device.
    pub(crate) fn draw(case: &mut Case<'_, D>) -> Checked<Self> {
        let shape = Form::draw(case);
        Self::of(case, case.device, shape)
    }

    /// Draws the content of buffers of the given form, on a device.
    pub(crate) fn of(case: &mut Case<'_, D>, device: &D, shape: Form) -> Checked<Self> {
        let mut expected = Vec::new();
        for &dtype in &shape.dtypes {
            expected.push(Some(numbers(case, dtype, shape.side * shape.side)?));
        }
        let ids: Vec<u32> = (0..shape.side).map(|_| case.between(0, shape.side - 1) as u32).collect();
        expected.push(Some(CpuDevice.storage_from_slice(&ids)?));
        let upload = |s: &Option<CpuStorage>| s.as_ref().map(|s| device.storage_from_cpu_storage(s)).transpose();
        let buffers = expected.iter().map(upload).collect::<Result<_>>()?;
        let names: Vec<_> = shape.dtypes.iter().map(|d| d.as_str()).collect();
        case.say(format_args!("buffers of [{0}, {0}]: {1}; ids", shape.side, names.join(", ")));
        Ok(Self { device: device.clone(), buffers, expected, shape })
    }

    /// Runs a step on both.
    pub(crate) fn step(&mut self, step: &Step) -> Checked {
        perform(&self.device, step, &mut self.buffers)?;
        self.expect(step)
    }

    /// Runs a step on the CPU only.
    pub(crate) fn expect(&mut self, step: &Step) -> Checked {
        Ok(perform(&CpuDevice, step, &mut self.expected)?)
    }

    /// Checks that a buffer has the expected contents.
    pub(crate) fn check_one(&self, i: usize) -> Checked {
        let (Some(expected), Some(buffer)) = (&self.expected[i], &self.buffers[i]) else { return Ok(()) };
        ensure!(buffer.dtype() == expected.dtype(), "buffer {i} now has the dtype {}", buffer.dtype());
        let got = buffer.to_cpu_storage()?;
        equal(&format!("buffer {i}"), expected.dtype(), expected.as_bytes(), got.as_bytes())
    }

    /// Checks all buffers.
    pub(crate) fn check(&self) -> Checked {
        (0..self.buffers.len()).try_for_each(|i| self.check_one(i))
    }
}

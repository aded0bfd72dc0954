//! Random programs on several streams, compared with the host bit for bit: storages are created,
//! changed, read, moved through pinned memory and dropped on streams without explicit ordering.

use super::super::{Device, Storage};
use super::device;
use isobit_hal::{
    Affine, BackendDevice, BackendStorage, BinaryOp, CpuDevice, CpuStorage, DType, Layout, PinnedBuffer, Reduce,
    ReduceOp, Result, Scalar, Shape, Src, Stream,
};

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

const SLOTS: usize = 5;
const SIDE: usize = 24;

/// One step: the operation, its slots and its number.
#[derive(Debug, Clone, Copy)]
struct Step {
    what: usize,
    slots: [usize; 3],
    number: i32,
    stream: usize,
}

impl Step {
    const KINDS: usize = 10;

    fn draw(random: &mut Random, streams: usize) -> Self {
        Self {
            what: random.below(Self::KINDS),
            slots: std::array::from_fn(|_| random.below(SLOTS)),
            number: random.below(2000) as i32 - 1000,
            stream: random.below(streams),
        }
    }

    /// Runs the step on integers, whose arithmetic wraps identically everywhere.
    fn run<S: BackendStorage>(self, slots: &mut [S], pinned: &mut PinnedBuffer) -> Result<()> {
        let Self { what, slots: [a, b, c], number, .. } = self;
        let square = Layout::contiguous([SIDE, SIDE]);
        let turned = square.transpose(0, 1)?;
        let (len, bytes) = (SIDE * SIDE, 4 * SIDE * SIDE);
        let (row, factor) = (number.unsigned_abs() as usize % SIDE, f64::from(number % 7));
        match what {
            0 => slots[a].const_set(Scalar::I32(number), &square.narrow(0, row, SIDE - row)?)?,
            1 => S::affine_into(Affine::new(factor, 3.0), Src::InPlace, &mut slots[a], &square)?,
            2 => slots[a] = slots[b].binary(&turned, &slots[c], &square, BinaryOp::Add)?,
            3 => slots[a] = slots[b].binary(&square, &slots[c], &turned, BinaryOp::Maximum)?,
            4 => slots[a] = slots[b].cumsum(&turned, 1)?,
            5 => {
                let sums = slots[b].reduce(&square, &Reduce::new(ReduceOp::Sum, &[1]))?;
                let wide = Layout::contiguous([SIDE, 1]).broadcast_as([SIDE, SIDE])?;
                slots[a] = slots[c].binary(&square, &sums, &wide, BinaryOp::Sub)?;
            }
            6 => slots[a] = slots[b].device().storage_from_slice(&vec![number; len])?,
            7 => {
                slots[b].copy_to_pinned(0, pinned, 0..bytes)?;
                slots[a].copy_from_pinned(0, pinned, 0..bytes)?;
            }
            8 => {
                slots[a].copy_from_pinned(4 * row, pinned, 4 * row..bytes)?;
                if number % 3 == 0 {
                    pinned.as_mut_slice::<i32>()?.fill(number);
                }
            }
            _ => {
                let mut copy = slots[b].device().zeros(&Shape::from(len), DType::I32)?;
                slots[b].transfer_into(&mut copy)?;
                slots[a] = copy;
            }
        }
        Ok(())
    }
}

fn slots<D: BackendDevice>(device: &D) -> (Vec<D::Storage>, PinnedBuffer) {
    let values = |slot: usize| (0..SIDE * SIDE).map(|i| (i * (slot + 3)) as i32 - 500).collect::<Vec<_>>();
    let slots = (0..SLOTS).map(|slot| device.storage_from_slice(&values(slot)).unwrap()).collect();
    (slots, device.alloc_pinned(4 * SIDE * SIDE).unwrap())
}

fn on_host(steps: &[Step]) -> Vec<Vec<i32>> {
    let (mut slots, mut pinned) = slots(&CpuDevice::new(0).unwrap());
    steps.iter().for_each(|step| step.run::<CpuStorage>(&mut slots, &mut pinned).unwrap());
    slots.iter().map(|slot| slot.to_vec().unwrap()).collect()
}

fn on_device(device: &Device, steps: &[Step], streams: &[Stream]) -> Vec<Vec<i32>> {
    let (mut slots, mut pinned) = slots(device);
    for step in steps {
        let stream = &streams[step.stream];
        device.with_stream(stream, || step.run::<Storage>(&mut slots, &mut pinned)).unwrap();
    }
    slots.iter().map(|slot| slot.to_vec().unwrap()).collect()
}

#[test]
fn random_programs_over_streams_give_the_hosts_bits() {
    let Some(device) = device() else { return };
    for seed in 1..=12u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut streams: Vec<Stream> = (0..3).map(|_| device.new_stream().unwrap()).collect();
        streams.push(device.default_stream().unwrap());
        let steps: Vec<Step> = (0..40).map(|_| Step::draw(&mut random, streams.len())).collect();
        assert_eq!(on_device(&device, &steps, &streams), on_host(&steps), "seed {seed}: {steps:#?}");
    }
    device.synchronize().unwrap();
    assert_eq!(device.pool_stats().in_use, 0);
}

#[test]
fn threads_run_programs_on_streams_of_their_own() {
    let Some(device) = device() else { return };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4u64)
            .map(|seed| {
                let device = &device;
                scope.spawn(move || {
                    for round in 0..3 {
                        let mut random = Random((seed << 32 | round).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                        let streams = [device.new_stream().unwrap(), device.default_stream().unwrap()];
                        let steps: Vec<Step> = (0..25).map(|_| Step::draw(&mut random, streams.len())).collect();
                        assert_eq!(
                            on_device(device, &steps, &streams),
                            on_host(&steps),
                            "seed {seed}, {round}: {steps:#?}"
                        );
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(device.pool_stats().in_use, 0);
}

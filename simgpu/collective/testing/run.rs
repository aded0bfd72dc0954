//! How a test runs: in processes of its own, with several cards, and with work that is done at once
//! or late.

use super::gpu::{Gpu, Handle, Id};
use crate::VENDOR;
use isobit_simgpu_install::{cuda, inside, rocm};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// No test takes as long as this, unless something waits for ever.
const TOO_LONG: Duration = Duration::from_secs(120);

/// Runs a test's body on a number of cards, in one process for each time when work is done.
pub fn on_cards(test: &str, cards: usize, variables: &[(&str, &str)], body: fn(&Gpu)) {
    if inside() {
        return body(&Gpu::open(VENDOR));
    }
    for defer in ["0", "1"] {
        let mut command = command(test, cards);
        command.env("ISOBIT_SIM_DEFER", defer).envs(variables.iter().copied());
        let status = wait(command.spawn().expect("this program starts again"));
        assert!(status.success(), "ISOBIT_SIM_DEFER={defer}: {status}");
    }
}

/// Returns the command that runs a test again in another process, from one that already has the
/// simulator.
pub fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
    command.args([test, "--exact", "--nocapture"]);
    command
}

/// Returns the command that runs a test with the simulator on a number of cards.
fn command(test: &str, cards: usize) -> Command {
    let installed = match VENDOR {
        super::Vendor::Nvidia => cuda(),
        super::Vendor::Amd => rocm(),
    };
    let mut command = installed.expect("the simulator is built").child(test).expect("the path of this program");
    command.env("ISOBIT_SIM_CUDA", vec!["sm_90"; cards].join(","));
    command.env("ISOBIT_SIM_ROCM", vec!["gfx90a"; cards].join(","));
    command.env("ISOBIT_SIM_MEMORY", (1u64 << 28).to_string()).env("ISOBIT_SIM_RANK_TIMEOUT", "60");
    command
}

/// Waits for a process, which is killed if it takes too long.
pub fn wait(mut child: Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the process is a child") {
            return status;
        }
        if start.elapsed() > TOO_LONG {
            child.kill().expect("the process is a child");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One rank in its thread.
pub struct Rank<'a> {
    pub gpu: &'a Gpu,
    pub rank: usize,
    pub ranks: usize,
    pub communicator: Handle,
    pub stream: Handle,
}

/// Runs every rank in a thread, each with its card, communicator and stream, and returns the
/// results in the order of the ranks.
pub fn threads<T: Send>(gpu: &Gpu, ranks: usize, body: impl Fn(&Rank<'_>) -> T + Sync) -> Vec<T> {
    let id = gpu.id();
    std::thread::scope(|scope| {
        let body = &body;
        let start = |rank| scope.spawn(move || body(&Rank::join(gpu, ranks, id, rank)));
        let threads: Vec<_> = (0..ranks).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("the rank does not panic")).collect()
    })
}

impl<'a> Rank<'a> {
    /// Joins the communicator of an id, with the card of the rank's number.
    pub fn join(gpu: &'a Gpu, ranks: usize, id: Id, rank: usize) -> Self {
        gpu.set_device(rank);
        Self { gpu, rank, ranks, communicator: gpu.join(ranks, id, rank), stream: gpu.stream() }
    }

    /// Copies bytes to new memory of the rank's card.
    pub fn upload(&self, bytes: &[u8]) -> Handle {
        self.gpu.upload(bytes, self.stream)
    }

    pub fn download(&self, at: Handle, bytes: usize) -> Vec<u8> {
        self.gpu.download(at, bytes, self.stream)
    }

    /// Sums f32 over all ranks, in place, and returns the result.
    pub fn all_reduce(&self, numbers: &[f32]) -> Vec<f32> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let at = self.upload(&bytes);
        // SAFETY: the simulator checks the memory.
        let status =
            unsafe { (self.gpu.nccl.ncclAllReduce)(at, at, numbers.len(), 7, 0, self.communicator, self.stream) };
        self.gpu.ok(status);
        floats(&self.download(at, bytes.len()))
    }

    pub fn destroy(&self) {
        // SAFETY: checked by the library.
        self.gpu.ok(unsafe { (self.gpu.nccl.ncclCommDestroy)(self.communicator) });
    }
}

/// Reads f32 from bytes.
pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
}

/// Returns the bytes of f32.
pub fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

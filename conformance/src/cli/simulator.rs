//! The simulator that replaces a driver's library in this process, if there is one, and its report
//! of what it saw.

use isobit_conformance::report::Finding;
use isobit_conformance::run::{Sighting, Watch};
use libloading::os::unix::{Library, RTLD_NOW};
use serde::Deserialize;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU64, Ordering};

/// The libraries that a simulator may replace.
const LIBRARIES: [&str; 6] =
    ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libcuda.so", "libcuda.so.1"];

/// Opens only a library that is already loaded; the value is that of the GNU C library.
const RTLD_NOLOAD: c_int = 4;

type ReportFn = unsafe extern "C" fn(buffer: *mut c_char, length: usize) -> usize;

/// A loaded simulator.
#[derive(Debug)]
pub struct Simulator {
    report: ReportFn,
    executed: AtomicU64,
    /// Keeps the library loaded, so that the function above stays valid.
    _library: Library,
}

/// The simulator's report.
#[derive(Debug, Deserialize)]
struct Written {
    instructions: u64,
    findings: Vec<WrittenFinding>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WrittenFinding {
    kind: String,
    kernel: String,
    instruction: String,
    thread: String,
    buffer: String,
    offset: Option<i64>,
    message: String,
}

impl Simulator {
    /// Returns the simulator among the libraries that this process has loaded.
    pub fn loaded() -> Option<Self> {
        LIBRARIES.into_iter().find_map(|name| {
            // SAFETY: with RTLD_NOLOAD nothing is loaded, so no code of a library runs.
            let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_NOLOAD) }.ok()?;
            // SAFETY: the simulators declare the function with this type, and no vendor's library
            // has a function of this name.
            let report = *unsafe { library.get::<ReportFn>(b"isobit_sim_report\0") }.ok()?;
            Some(Self { report, executed: AtomicU64::new(0), _library: library })
        })
    }

    /// Returns the number of instructions executed since the process began, counting each lane, as
    /// of the last `look`.
    pub fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    /// Returns the simulator's report as it writes it.
    fn text(&self) -> Vec<u8> {
        let mut buffer: Vec<u8> = vec![0; 4096];
        loop {
            // SAFETY: the buffer has the given length, and the function does not write beyond it.
            let needed = unsafe { (self.report)(buffer.as_mut_ptr().cast(), buffer.len()) };
            if needed <= buffer.len() {
                buffer.truncate(needed);
                // The length may include the NUL that ends a C string.
                while buffer.last() == Some(&0) {
                    buffer.pop();
                }
                return buffer;
            }
            // Other threads may make the report longer until the next call.
            buffer.resize(needed + 4096, 0);
        }
    }
}

impl Watch for Simulator {
    fn look(&self) -> Result<Vec<Sighting>, String> {
        let written: Written =
            serde_json::from_slice(&self.text()).map_err(|e| format!("the simulator's report cannot be read: {e}"))?;
        self.executed.store(written.instructions, Ordering::Relaxed);
        Ok(written.findings.into_iter().map(sighting).collect())
    }
}

fn sighting(written: WrittenFinding) -> Sighting {
    let some = |text: String| Some(text).filter(|t| !t.is_empty());
    // The simulator names a single access; the report names the count.
    let kind = match written.kind.as_str() {
        // A card makes an over-read without an error, but it is outside of the allocation.
        "over_read" => "out_of_bounds",
        "uninitialised_read" => "uninitialised_reads",
        "race" => "races",
        "divergent_barrier" => "divergent_barriers",
        // It ends the launch, as a fault does.
        "deadlock" => "fault",
        other => other,
    };
    let buffer = some(written.buffer);
    // For an instruction that cannot be executed, only the message names the instruction.
    let instruction = match kind {
        "fault" => some(written.instruction).or_else(|| some(written.message.clone())),
        _ => some(written.instruction),
    };
    let finding = Finding {
        kind: kind.into(),
        kernel: some(written.kernel),
        instruction,
        thread: some(written.thread),
        offset: written.offset.filter(|_| buffer.is_some()),
        buffer,
        ..Finding::default()
    };
    Sighting { finding, message: written.message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_as_simulators_write_it_is_one_of_the_report() {
        let text = r#"{"instructions":70,"findings":[{"kind":"race","kernel":"k","instruction":"0x40: ds_store_b32 v0, v1",
            "thread":"block 2, thread 65","buffer":"shared memory","offset":-4,"message":"no barrier between"}]}"#;
        let written: Written = serde_json::from_str(text).unwrap();
        assert_eq!(written.instructions, 70);
        let seen = sighting(written.findings.into_iter().next().unwrap());
        assert_eq!((seen.finding.kind.as_str(), seen.finding.offset), ("races", Some(-4)));
        assert_eq!(seen.message, "no barrier between");
        let place =
            "kernel k, instruction 0x40: ds_store_b32 v0, v1, thread block 2, thread 65, buffer shared memory, byte -4";
        assert_eq!(seen.finding.place(), place);
    }

    #[test]
    fn where_no_simulator_is_loaded_there_is_none() {
        assert!(Simulator::loaded().is_none());
    }
}

//! Injected faults: every call that a driver makes fails once, with each kind of error, on
//! simulated GPUs of both vendors. Each fault must give its error kind and name its call, nothing
//! may panic or leak, and the device must work afterwards where the contract says so.
//!
//! The faults of a device run in a few processes, which tell their rows on standard output. The
//! rows of all devices make the table in `docs/faults.md`; `--nocapture` prints it.
#![cfg(all(feature = "cli", feature = "cuda", feature = "rocm"))]

mod absent;
mod bench;
mod cache;
mod calls;
mod card;
mod child;
mod codes;
mod copies;
mod describe;
mod graphs;
mod kernels;
mod libraries;
mod lost;
mod memory;
mod order;
mod peers;
mod row;
mod simulator;
mod suite;

use card::Card;
use row::Row;

/// What runs in a process of its own: its name, the variables that it needs in addition, and the
/// faults.
struct Phase {
    name: &'static str,
    run: fn(&'static Card) -> Vec<Row>,
}

/// Everything that runs inside one process with a device.
const PHASES: &[Phase] = &[
    Phase { name: "calls", run: calls::run },
    Phase { name: "codes", run: codes::run },
    Phase { name: "lost", run: lost::run },
    Phase { name: "cache", run: cache::inside },
    Phase { name: "opens", run: absent::opens },
    Phase { name: "products", run: absent::products },
    Phase { name: "products of bytes", run: absent::products_of_bytes },
    Phase { name: "compiles", run: absent::compiles },
];

const TEST: &str = "every_fault_has_its_error";

#[test]
fn every_fault_has_its_error() {
    if let Some((card, phase)) = child::asked() {
        let phase = PHASES.iter().find(|known| known.name == phase).expect("a phase of this test");
        (phase.run)(card).iter().for_each(Row::tell);
        return;
    }
    if std::env::var_os("ISOBIT_SIMGPU").is_none() {
        isobit_simgpu_install::all().expect("the simulated GPUs are built");
    }
    let of_cards: Vec<Vec<Row>> = std::thread::scope(|scope| {
        let running: Vec<_> = Card::ALL.iter().map(|card| scope.spawn(move || all(card))).collect();
        running.into_iter().map(|card| card.join().unwrap_or_else(|why| std::panic::resume_unwind(why))).collect()
    });
    for (card, rows) in Card::ALL.iter().zip(&of_cards) {
        assert!(rows.len() >= 60, "only {} faults on {}", rows.len(), card.id);
    }
    row::table(&of_cards, Card::ALL.iter().all(cache::can_run));
}

/// Runs every fault on a card.
fn all(card: &'static Card) -> Vec<Row> {
    let mut rows = Vec::new();
    for phase in ["calls", "codes", "lost"] {
        rows.extend(child::run(card, phase, &[]).passes());
    }
    rows.extend(absent::run(card));
    rows.extend(cache::run(card));
    rows.extend(suite::run(card));
    rows
}

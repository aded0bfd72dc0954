//! Code that is loaded before it is used, which only a subscriber of the loads can tell from code
//! that is loaded by its first use.

use super::{device, fails, ramp};
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, ErrorKind, Layout, Op, UnaryOp};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing::dispatcher::Dispatch;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Counts the modules, or kernels alone, that this thread loads.
#[derive(Clone, Default)]
struct Loads(Arc<AtomicUsize>);

impl Subscriber for Loads {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        ["load_module", "load_kernel"].contains(&metadata.name())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.0.fetch_add(1, Ordering::SeqCst) as u64 + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn the_first_use_after_preload_loads_nothing() {
    let Some(device) = device() else { return };
    let (x, l) = (ramp(&device, 10), Layout::contiguous(10));
    let transposed = Layout::contiguous([2, 5]).transpose(0, 1).unwrap();
    // With one subscriber in the process, tracing asks the thread that meets a span first, here
    // that of another test, whether it is of interest, and remembers its no for all threads. With
    // two, it asks the subscribers.
    let _second = Dispatch::new(Loads::default());
    let loads = |work: &dyn Fn()| {
        let loads = Loads::default();
        tracing::subscriber::with_default(loads.clone(), work);
        loads.0.load(Ordering::SeqCst)
    };
    let unary = |op: UnaryOp, layout: &Layout| x.unary(layout, op).map(drop).unwrap();
    assert_eq!(loads(&|| unary(UnaryOp::Acosh, &l)), 1, "a first use loads code");

    let unsupported: (Op, &[DType]) = (Op::Unary(UnaryOp::Sinh), &[DType::U8; 2]);
    let sinh: (Op, &[DType]) = (Op::Unary(UnaryOp::Sinh), &[DType::F32; 2]);
    fails(device.preload(&[sinh.clone(), unsupported]), ErrorKind::UnsupportedDtype);
    assert_eq!(loads(&|| unary(UnaryOp::Sinh, &l)), 1, "a refused call loads nothing");

    let calls: [(Op, &[DType]); 4] = [
        (Op::Unary(UnaryOp::Asinh), &[DType::F32; 2]),
        (Op::Unary(UnaryOp::Atanh), &[DType::F32; 2]),
        (Op::Binary(BinaryOp::Hypot), &[DType::F32; 3]),
        sinh,
    ];
    device.preload(&calls).unwrap();
    let used = loads(&|| {
        for op in [UnaryOp::Asinh, UnaryOp::Atanh, UnaryOp::Sinh] {
            unary(op, &l);
            unary(op, &transposed);
        }
        x.binary(&l, &x, &l, BinaryOp::Hypot).unwrap();
        device.preload(&calls).unwrap();
    });
    assert_eq!(used, 0, "what was loaded is loaded again");
}

//! Tests what a subscriber receives about operations, and that nothing is formatted unless a
//! subscriber asks for it.

use isobit_hal::trace::{Call, operation};
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, CpuStorage, DType, Layout, Op, Scalar, Src};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Name, target and fields of every span, in order, with `exit` if the span was exited.
type Seen = Arc<Mutex<Vec<BTreeMap<&'static str, String>>>>;

struct Collector {
    seen: Seen,
    level: LevelFilter,
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let metadata = span.metadata();
        let mut fields = BTreeMap::from([("span", metadata.name().into()), ("target", metadata.target().into())]);
        span.record(&mut Fields(&mut fields));
        let mut seen = self.seen.lock().unwrap();
        seen.push(fields);
        Id::from_u64(seen.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}

    fn exit(&self, id: &Id) {
        let mut seen = self.seen.lock().unwrap();
        seen[id.into_u64() as usize - 1].insert("exit", String::new());
    }
}

fn seen_by(level: LevelFilter, work: impl FnOnce()) -> Vec<BTreeMap<&'static str, String>> {
    let seen = Seen::default();
    tracing::subscriber::with_default(Collector { seen: seen.clone(), level }, work);
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

// This is a single test, because all subscribers of the process together determine tracing's global
// level.
#[test]
fn a_subscriber_is_told_of_each_operation_and_others_are_not() {
    let device = CpuDevice;
    let a = device.storage_from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let (rows, row) = (Layout::contiguous([2, 3]), Layout::contiguous([1, 3]).broadcast_as([2, 3]).unwrap());
    let mut sum = device.zeros(&[2, 3].into(), DType::F32).unwrap();
    let stream = device.new_stream().unwrap();
    let entered = device.enter_stream(&stream).unwrap();
    let mut work = || {
        let srcs = (Src::Storage(&a, &rows), Src::Storage(&a, &row));
        CpuStorage::binary_into(BinaryOp::Add, srcs.0, srcs.1, &mut sum, &rows).unwrap();
        CpuStorage::binary_into(BinaryOp::Mul, Src::InPlace, Src::InPlace, &mut sum, &rows).unwrap();
        let half = rows.narrow(0, 1, 1).unwrap();
        sum.const_set(Scalar::F32(1.0), &half).unwrap();
        let ids = device.storage_from_slice(&[1u8, 0]).unwrap();
        a.gather(&Layout::contiguous(6), &ids, &Layout::contiguous(2), 0).unwrap();
        a.to_dtype(&rows, DType::F64).unwrap();
    };
    let seen = seen_by(LevelFilter::TRACE, &mut work);
    let told = |i: usize, name: &str| seen[i][name].as_str();
    // Bytes counted by hand: the elements of every operand, broadcast or not, times their size.
    let expected = [
        ("add", "f32, f32, f32", "[2, 3], [2, 3], [2, 3]", "72"),
        ("mul", "f32, f32, f32", "[2, 3], [2, 3], [2, 3]", "72"),
        ("const_set", "f32", "[1, 3]", "12"),
        ("gather", "f32, u8, f32", "[6], [2], [2]", "34"),
        ("cast", "f32, f64", "[2, 3], [2, 3]", "72"),
    ];
    assert_eq!(seen.len(), expected.len(), "{seen:?}");
    for (i, (op, dtypes, shapes, bytes)) in expected.into_iter().enumerate() {
        assert_eq!((told(i, "span"), told(i, "target")), ("op", "isobit"));
        assert_eq!(told(i, "op"), format!("{op:?}"));
        assert_eq!((told(i, "dtypes"), told(i, "shapes"), told(i, "bytes")), (dtypes, shapes, bytes), "{op}");
        assert_eq!(told(i, "device"), "cpu:0");
        assert_eq!(told(i, "stream"), stream.id().as_u64().to_string());
        assert!(seen[i].contains_key("exit"), "the span of {op} ends with it");
    }
    drop(entered);

    // A subscriber with a higher minimum level receives nothing, and no span is created.
    let quiet = seen_by(LevelFilter::DEBUG, || {
        work();
        let call = Call { op: &Op::Fill(Scalar::F32(0.0)), inputs: &[], dst: &a, dst_layout: &rows };
        assert!(operation(&call).is_none());
    });
    assert!(quiet.is_empty(), "{quiet:?}");
    work();
}

#[test]
fn a_call_that_no_device_can_hold_is_shown_all_the_same() {
    let a = CpuDevice.storage_from_slice(&[0f64]).unwrap();
    let layout = Layout::contiguous([usize::MAX, 2]);
    let call = Call { op: &Op::Copy, inputs: &[Src::Storage(&a, &layout)], dst: &a, dst_layout: &layout };
    assert_eq!(call.bytes(), u64::MAX);
    assert_eq!(call.to_string(), format!("copy_strided_src f64, f64 [{0}, 2], [{0}, 2]", usize::MAX));
}

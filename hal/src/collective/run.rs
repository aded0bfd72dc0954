//! Carries out the calls of a thread: each goes on as far as the other ranks let it, until all are
//! done.

use super::call::{Call, Collective};
use super::communicator::Communicator;
use super::operands::{Signature, check};
use super::plan::{Plan, Take};
use super::room::{Arrival, Arrived, Failure, Offer};
use super::wait::{changes, names, wait};
use crate::{BackendDevice, BackendStorage, DType, Error, ErrorKind, Layout, Op, Reduce, ReduceOp, Result, Shape, Src};
use std::sync::Arc;
use std::time::Instant;

/// Runs calls of one or several ranks. Each call that can end does, and the first error is
/// returned.
pub(super) fn run<'a, D: BackendDevice>(
    calls: impl Iterator<Item = (&'a Communicator<D>, Call<'a, D::Storage>)>,
) -> Result<()> {
    let mut first = Ok(());
    let mut keep = |outcome: Result<()>| {
        if first.is_ok() {
            first = outcome;
        }
    };
    let mut running = Vec::new();
    for (communicator, call) in calls {
        match Running::start(communicator, call) {
            Ok(started) => running.extend(started),
            Err(e) => keep(Err(e)),
        }
    }
    while !running.is_empty() {
        let (seen, before) = (changes(), running.len());
        let mut moved = false;
        running.retain_mut(|call: &mut Running<'_, D>| match call.go_on() {
            Ok(Progress::Waits) => true,
            Ok(Progress::Moved) => {
                moved = true;
                true
            }
            Ok(Progress::Done) => false,
            Err(e) => {
                keep(Err(e));
                false
            }
        });
        if !moved && running.len() == before {
            wait(seen, running.iter().filter_map(|call| call.until).min());
        }
    }
    first
}

enum Progress {
    Waits,
    Moved,
    Done,
}

enum Step {
    /// Waits for the sources of a call, given by its number.
    Sources(u64),
    /// Waits for the combined parts.
    Parts(u64),
    /// Waits for a message.
    Message,
}

/// A call that waits for other ranks.
struct Running<'a, D: BackendDevice> {
    communicator: &'a Communicator<D>,
    call: Call<'a, D::Storage>,
    signature: Signature,
    plan: Plan,
    step: Step,
    until: Option<Instant>,
}

impl<'a, D: BackendDevice> Running<'a, D> {
    /// Checks a call and offers its source. Returns `None` if that is all.
    fn start(communicator: &'a Communicator<D>, call: Call<'a, D::Storage>) -> Result<Option<Self>> {
        let (room, rank, device) = (communicator.room(), communicator.rank(), communicator.device());
        let collective = call.collective;
        let told = |e: Error| e.with_op(collective.name()).with_device(device.location());
        let begun = check(&call, device, rank, room.size()).and_then(|signature| {
            not_captured(device)?;
            let plan = Plan { collective, rank, size: room.size(), count: signature.count };
            if collective == Collective::Barrier {
                device.current_stream()?.synchronize()?;
            }
            let source = if plan.offers() { Some(offer(device, source(&call, plan)?)?) } else { None };
            Ok((plan, Arrival { signature, source }))
        });
        let (begun, arrival) = match begun {
            Ok((plan, arrival)) => (Ok((plan, arrival.signature)), Ok(arrival)),
            // The others hear of it, because they must not wait for this call.
            Err(e) => {
                let why = format!("the call of rank {rank} was refused: {}", e.message());
                (Err(told(e)), Err(why))
            }
        };
        let step = match collective {
            Collective::Send { to } if to < room.size() => {
                room.send(rank, to, arrival).map_err(|why| told(failed(why)))?;
                return begun.map(|_| None);
            }
            Collective::Recv { .. } | Collective::Send { .. } => Step::Message,
            _ => Step::Sources(room.arrive(rank, arrival).map_err(|why| told(failed(why)))?),
        };
        let (plan, signature) = begun.inspect_err(|_| {
            if let Step::Sources(number) = step {
                room.finish(number);
            }
        })?;
        let until = Instant::now().checked_add(communicator.timeout());
        Ok(Some(Self { communicator, call, signature, plan, step, until }))
    }

    fn go_on(&mut self) -> Result<Progress> {
        let device = self.communicator.device();
        self.next().map_err(|e| e.with_op(self.call.collective.name()).with_device(device.location()))
    }

    /// Takes the next step if the other ranks have come so far.
    fn next(&mut self) -> Result<Progress> {
        let room = self.communicator.room();
        match self.step {
            Step::Sources(number) => match room.arrived(number).map_err(failed)? {
                None => self.waits(|| room.missing(number)),
                Some(arrived) => {
                    let agreed = agree(&arrived);
                    let outcome = agreed.and_then(|()| self.alone(|this| this.take_sources(number, &arrived)));
                    self.end_unless_moved(number, outcome)
                }
            },
            Step::Parts(number) => match room.parts(number).map_err(failed)? {
                None => self.waits(|| room.missing(number)),
                Some(parts) => {
                    let outcome = self.alone(|this| this.take_parts(&parts));
                    self.end_unless_moved(number, outcome)
                }
            },
            Step::Message => {
                let Collective::Recv { from } = self.call.collective else { return Ok(Progress::Done) };
                match room.receive(from, self.plan.rank).map_err(failed)? {
                    None => self.waits(|| vec![from]),
                    Some(message) => self.take_message(from, &message).map(|()| Progress::Done),
                }
            }
        }
    }

    /// Does this rank's part of the work. If it fails, the other ranks cannot go on either.
    fn alone(&mut self, work: impl FnOnce(&mut Self) -> Result<Progress>) -> Result<Progress> {
        let (room, rank, signature) = (self.communicator.room(), self.plan.rank, self.signature);
        work(self).inspect_err(|e| room.fail(format!("rank {rank} failed in {signature}: {e}")))
    }

    fn end_unless_moved(&self, number: u64, outcome: Result<Progress>) -> Result<Progress> {
        if !matches!(outcome, Ok(Progress::Moved)) {
            self.communicator.room().finish(number);
        }
        outcome
    }

    /// Waits on, unless the time is up. After that the ranks no longer agree on the number of their
    /// calls, so the communicator is of no more use.
    fn waits(&self, missing: impl FnOnce() -> Vec<usize>) -> Result<Progress> {
        if self.until.is_none_or(|until| Instant::now() < until) {
            return Ok(Progress::Waits);
        }
        let (rank, signature, waited) = (self.plan.rank, self.signature, self.communicator.timeout());
        let missing = names(&missing());
        let why = format!("rank {rank} waited {waited:?} in {signature} for {missing}: not all ranks made this call");
        self.communicator.room().fail(why.clone());
        Err(failed(why))
    }

    fn take_sources(&mut self, number: u64, arrived: &[Arrived<D::Storage>]) -> Result<Progress> {
        let source = |rank: usize| match &*arrived[rank] {
            Ok(Arrival { source: Some(offer), .. }) => offer,
            _ => unreachable!("the ranks agree on the call, so those that are taken from have offered"),
        };
        let (plan, takes) = (self.plan, self.plan.first());
        let Some(op) = plan.collective.reduce_op() else {
            self.put(&takes, source)?;
            return Ok(Progress::Done);
        };
        let device = self.communicator.device();
        let len = takes.first().map_or(0, |take| take.range.len());
        let stacked = self.taken(&takes, source, len * plan.size)?;
        if !plan.has_second_stage() {
            self.combine_into(op, &stacked)?;
            settle(device)?;
            return Ok(Progress::Done);
        }
        let reduce = Op::Reduce(Reduce::new(op, &[0]));
        let part = D::Storage::apply(&reduce, &[(&stacked, &Layout::contiguous((plan.size, len)))])?;
        settle(device)?;
        self.communicator.room().offer(number, plan.rank, offer(device, part)?);
        self.step = Step::Parts(number);
        Ok(Progress::Moved)
    }

    fn take_parts(&mut self, parts: &[Arc<Offer<D::Storage>>]) -> Result<Progress> {
        self.put(&self.plan.second(), |rank| &parts[rank])?;
        Ok(Progress::Done)
    }

    fn take_message(&mut self, from: usize, message: &Arrived<D::Storage>) -> Result<()> {
        let arrival = message.as_ref().as_ref().map_err(|why| refused(why.clone()))?;
        let Signature { dtype, count, .. } = arrival.signature;
        if (dtype, count) != (self.signature.dtype, self.signature.count) {
            return Err(refused(format!("rank {from} called {}, this rank {}", arrival.signature, self.signature)));
        }
        let all = [Take { from, range: 0..count, at: 0 }];
        self.put(&all, |_| arrival.source.as_ref().expect("a message has elements"))
    }

    /// Takes elements into the destination.
    fn put<'o>(&mut self, takes: &[Take], offer: impl Fn(usize) -> &'o Offer<D::Storage>) -> Result<()>
    where
        D: 'o,
    {
        let device = self.communicator.device();
        if takes.is_empty() {
            return Ok(());
        }
        let contiguous = self.call.dst.as_ref().and_then(|(_, layout)| layout.contiguous_offsets());
        if let (Some((start, _)), Some((dst, _))) = (contiguous, &mut self.call.dst) {
            takes.iter().try_for_each(|t| take(device, offer(t.from), t, dst, start))?;
            return settle(device);
        }
        let len = takes.iter().map(|t| t.range.len()).sum();
        let taken = self.taken(takes, offer, len)?;
        let Some((dst, layout)) = &mut self.call.dst else { return Ok(()) };
        let packed = Layout::contiguous(layout.shape());
        D::Storage::copy_into(Src::Storage(&taken, &packed), dst, layout)?;
        settle(device)
    }

    /// Takes `len` elements into a new storage.
    fn taken<'o>(
        &self,
        takes: &[Take],
        offer: impl Fn(usize) -> &'o Offer<D::Storage>,
        len: usize,
    ) -> Result<D::Storage>
    where
        D: 'o,
    {
        let device = self.communicator.device();
        let dtype = self.signature.dtype.unwrap_or(DType::U8);
        // SAFETY: what is taken covers the storage, or it is dropped without being read.
        let mut taken = unsafe { device.alloc_uninit(&Shape::from(len), dtype)? };
        takes.iter().try_for_each(|t| take(device, offer(t.from), t, &mut taken, 0))?;
        Ok(taken)
    }

    /// Combines stacked elements into the destination.
    fn combine_into(&mut self, op: ReduceOp, stacked: &D::Storage) -> Result<()> {
        let Some((dst, layout)) = &mut self.call.dst else { return Ok(()) };
        let result = layout.unsqueeze(0)?;
        let shape: Vec<usize> = [self.plan.size].iter().chain(layout.dims()).copied().collect();
        let reduce = Op::Reduce(Reduce::new(op, &[0]));
        D::Storage::apply_into(&reduce, &[Src::Storage(stacked, &Layout::contiguous(shape))], dst, &result)
    }
}

/// Refuses a call in a capture: the host meets the other ranks, which a replay would not repeat.
fn not_captured(device: &impl BackendDevice) -> Result<()> {
    if !device.current_stream()?.is_capturing() {
        return Ok(());
    }
    let message = "the ranks meet on the host, which a replayed graph does not repeat: call it outside the capture";
    Err(Error::new(ErrorKind::CaptureViolation, message))
}

/// Waits for this rank's stream before temporary storages are dropped, on a device whose caller
/// orders streams: the caller does not know about such storages.
fn settle(device: &impl BackendDevice) -> Result<()> {
    if device.is_event_tracking() { Ok(()) } else { device.current_stream()?.synchronize() }
}

/// Copies a rank's source into a storage of its own, so that the caller's operands are free when
/// the call returns.
fn source<S: BackendStorage>(call: &Call<'_, S>, plan: Plan) -> Result<S> {
    if let Some(Src::Storage(src, layout)) = &call.src {
        return src.try_clone(layout);
    }
    let (dst, layout) = call.dst.as_ref().expect("a call without a destination has a source");
    if plan.collective != Collective::AllGather {
        return dst.try_clone(layout);
    }
    // In place, a rank's source is its own part of the destination: some of its first dimension,
    // unless the parts do not end where that does.
    if let Some(first) = layout.dims().first().filter(|first| first.is_multiple_of(plan.size)) {
        let each = first / plan.size;
        return dst.try_clone(&layout.narrow(0, plan.rank * each, each)?);
    }
    let whole = dst.try_clone(layout)?;
    let own = whole.try_clone(&Layout::contiguous_with_offset(plan.count, plan.rank * plan.count))?;
    settle(whole.device())?;
    Ok(own)
}

fn offer<D: BackendDevice>(device: &D, data: D::Storage) -> Result<Offer<D::Storage>> {
    Ok(Offer { data, stream: device.current_stream()? })
}

/// Takes elements from another rank's offer, in order with the streams of both, also where the
/// devices do not order streams themselves.
fn take<D: BackendDevice>(
    device: &D,
    offer: &Offer<D::Storage>,
    take: &Take,
    dst: &mut D::Storage,
    start: usize,
) -> Result<()> {
    if take.range.is_empty() {
        return Ok(());
    }
    let (theirs, range, at) = (offer.data.device(), take.range.clone(), start + take.at);
    if !theirs.same_device(device) {
        return theirs.with_stream(&offer.stream, || offer.data.transfer_range_into(range, dst, at));
    }
    let own = device.current_stream()?;
    if own.id() == offer.stream.id() {
        return offer.data.transfer_range_into(range, dst, at);
    }
    own.join(&offer.stream)?;
    offer.data.transfer_range_into(range, dst, at)?;
    offer.stream.join(&own)
}

/// Checks that all ranks have made the same call.
fn agree<S>(arrived: &[Arrived<S>]) -> Result<()> {
    if let Some(why) = arrived.iter().find_map(|arrival| arrival.as_ref().as_ref().err()) {
        return Err(refused(why.clone()));
    }
    let signatures: Vec<Signature> = arrived.iter().flat_map(|a| a.as_ref().as_ref().map(|a| a.signature)).collect();
    match signatures.iter().position(|other| *other != signatures[0]) {
        None => Ok(()),
        Some(rank) => Err(refused(format!(
            "the ranks do not make the same call: rank 0 calls {}, rank {rank} {}",
            signatures[0], signatures[rank]
        ))),
    }
}

fn refused(why: Failure) -> Error {
    Error::new(ErrorKind::InvalidArgument, why)
}

fn failed(why: Failure) -> Error {
    Error::new(ErrorKind::CommunicatorFailed, why)
}

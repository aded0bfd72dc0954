//! `device.collectives`: ranks on 2 to 8 devices combine, gather and exchange their buffers, on
//! random streams, between other operations.
//!
//! What a rank must have afterwards is computed on the host from what all ranks had before: by
//! copies, and by one reduction over the stacked elements.

use super::case::{Case, Checked, Failed, ensure, fails};
use super::mirror::{Form, Mirror};
use super::program::{self, Steps};
use super::step::{Buffers, perform};
use isobit_hal::collective::{Call, Collective};
use isobit_hal::{
    BackendDevice, BackendStorage, Communicator, CpuDevice, CpuStorage, Dims, ErrorKind, Layout, Op, Reduce, ReduceOp,
    Result, Src, Stream,
};
use std::time::Duration;

/// One collective of all ranks, on buffers by number.
#[derive(Debug, Clone)]
struct Drawn {
    collective: Collective,
    src: (usize, Layout),
    dst: (usize, Layout),
    in_place: bool,
}

/// The ranks of a case, in their order.
struct Ranks<D: BackendDevice> {
    communicators: Vec<Communicator<D>>,
    mirrors: Vec<Mirror<D>>,
    streams: Vec<Vec<Stream>>,
}

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let mut ranks = Ranks::draw(case)?;
    for _ in 0..case.between(2, 5) {
        ranks.some_steps(case)?;
        let drawn = draw(case, &ranks);
        ranks.collective(case, &drawn)?;
        if case.draw.chance(15) {
            ranks.disagree(case)?;
        }
        if case.draw.chance(15) {
            ranks.split(case)?;
        }
    }
    ranks.some_steps(case)?;
    ranks.mirrors.iter().try_for_each(Mirror::check)?;
    if case.draw.chance(20) {
        ranks.one_is_missing(case)?;
    }
    Ok(())
}

impl<D: BackendDevice> Ranks<D> {
    fn draw(case: &mut Case<'_, D>) -> Checked<Self> {
        let size = case.draw.one_of(&[2, 3, 4, 8]);
        let mut devices: Vec<D> =
            (0..size).map(|rank| if rank == 0 { case.device } else { case.other(rank - 1) }.clone()).collect();
        devices.rotate_left(case.between(0, size - 1));
        if case.draw.chance(20) {
            devices[size - 1] = devices[0].clone();
        }
        let names: Vec<_> = devices.iter().map(|d| d.location().to_string()).collect();
        case.say(format_args!("ranks on {}", names.join(", ")));
        let form = Form::draw(case);
        let mirrors = devices.iter().map(|device| Mirror::of(case, device, form.clone())).collect::<Checked<_>>()?;
        let mut streams = Vec::new();
        for device in &devices {
            let mut all = vec![device.default_stream()?];
            if case.draw.chance(60) {
                all.push(device.new_stream()?);
            }
            streams.push(all);
        }
        Ok(Self { communicators: Communicator::from_devices(&devices)?, mirrors, streams })
    }

    fn size(&self) -> usize {
        self.communicators.len()
    }

    /// Runs a few operations on some ranks, which are still running when a collective follows.
    fn some_steps(&mut self, case: &mut Case<'_, D>) -> Checked {
        for rank in 0..self.size() {
            for _ in 0..case.between(0, 2) {
                let mirror = &mut self.mirrors[rank];
                let step = program::draw(case, mirror, Steps::ANY);
                let on = case.draw.one_of(&[0, self.streams[rank].len() - 1]);
                case.say(format_args!("rank {rank}, stream {on}: {step}"));
                let device = mirror.device.clone();
                device.with_stream(&self.streams[rank][on], || perform(&device, &step, &mut mirror.buffers))?;
                mirror.expect(&step)?;
            }
        }
        Ok(())
    }

    /// Runs a collective on all ranks, and sets what they must have afterwards.
    fn collective(&mut self, case: &mut Case<'_, D>, drawn: &Drawn) -> Checked {
        let by_threads = case.draw.chance(50);
        let on: Vec<usize> = self.streams.iter().map(|all| case.draw.one_of(&[0, all.len() - 1])).collect();
        let place = if drawn.in_place { " in place" } else { "" };
        let how = if by_threads { "threads" } else { "a group" };
        let ((i, from), (j, to)) = (&drawn.src, &drawn.dst);
        case.say(format_args!(
            "{}{place}, buffer {i} {from} to buffer {j} {to}, by {how}, streams {on:?}",
            drawn.collective
        ));
        self.expect(drawn)?;
        let streams: Vec<Stream> = self.streams.iter().zip(on).map(|(all, on)| all[on].clone()).collect();
        let mut operands = Vec::new();
        for mirror in &mut self.mirrors {
            let dst = mirror.buffers[*j].take().ok_or_else(|| Failed::new("a buffer is gone"))?;
            operands.push((dst, &mirror.buffers));
        }
        let done = make(drawn, &self.communicators, &streams, &mut operands, by_threads);
        let results: Vec<D::Storage> = operands.into_iter().map(|(dst, _)| dst).collect();
        for (mirror, dst) in self.mirrors.iter_mut().zip(results) {
            mirror.buffers[*j] = Some(dst);
        }
        Ok(done?)
    }

    /// Computes on the host what every rank must have after a collective.
    fn expect(&mut self, drawn: &Drawn) -> Checked {
        let size = self.size();
        let (source, from) = if drawn.in_place { &drawn.dst } else { &drawn.src };
        let mut sources = Vec::new();
        for mirror in &self.mirrors {
            let Some(buffer) = &mirror.expected[*source] else { return Err(Failed::new("a buffer is gone")) };
            sources.push(buffer.try_clone(from)?);
        }
        let dtype = sources[0].dtype();
        let count = drawn.dst.1.elem_count();
        let width = dtype.size_in_bytes();
        let bytes = |rank: usize, at: usize, len: usize| &sources[rank].as_bytes()[at * width..][..len * width];
        let combined = |op: ReduceOp| -> Result<CpuStorage> {
            let all: Vec<u8> = sources.iter().flat_map(|s| s.as_bytes()).copied().collect();
            let stacked = CpuDevice.storage_from_bytes(dtype, &all)?;
            stacked.reduce(&Layout::contiguous([size, sources[0].len()]), &Reduce::new(op, &[0]))
        };
        let part = count / size;
        for rank in 0..size {
            let result: Vec<u8> = match drawn.collective {
                Collective::AllReduce(op) => combined(op)?.as_bytes().to_vec(),
                Collective::Reduce { op, root } if root == rank => combined(op)?.as_bytes().to_vec(),
                Collective::Reduce { .. } | Collective::Barrier => continue,
                Collective::ReduceScatter(op) => {
                    combined(op)?.as_bytes()[rank * count * width..][..count * width].to_vec()
                }
                Collective::AllGather if drawn.in_place => {
                    (0..size).flat_map(|r| bytes(r, r * part, part)).copied().collect()
                }
                Collective::AllGather => (0..size).flat_map(|r| bytes(r, 0, part)).copied().collect(),
                Collective::Broadcast { root } => bytes(root, 0, count).to_vec(),
                Collective::AllToAll => (0..size).flat_map(|r| bytes(r, rank * part, part)).copied().collect(),
                _ => bytes((rank + size - 1) % size, 0, count).to_vec(),
            };
            let result = CpuDevice.storage_from_bytes(dtype, &result)?;
            let (dst, to) = &drawn.dst;
            let Some(buffer) = &mut self.mirrors[rank].expected[*dst] else { continue };
            CpuStorage::copy_into(Src::Storage(&result, &Layout::contiguous(to.shape())), buffer, to)?;
        }
        Ok(())
    }

    /// Ranks that do not make the same call are told so, and go on.
    fn disagree(&mut self, case: &mut Case<'_, D>) -> Checked {
        let odd = case.between(0, self.size() - 1);
        case.say(format_args!("rank {odd} makes another call than the others"));
        let dst = 0;
        let layouts = [Layout::contiguous(1), Layout::contiguous(0)];
        let mut buffers: Vec<_> = self.mirrors.iter_mut().map(|m| m.buffers[dst].as_mut()).collect();
        let calls = self.communicators.iter().zip(&mut buffers).enumerate().filter_map(|(rank, (c, buffer))| {
            let layout = &layouts[usize::from(rank == odd)];
            buffer.as_deref_mut().map(|buffer| (c, Call::broadcast(buffer, layout, 0)))
        });
        fails(Communicator::group(calls), ErrorKind::InvalidArgument, &["do not make the same call", "broadcast"])?;
        Ok(())
    }

    /// Half of the ranks, in reverse order, and the other half each form a communicator.
    fn split(&mut self, case: &mut Case<'_, D>) -> Checked {
        case.say("the communicator is split");
        let size = self.size();
        let color = |rank: usize| u32::from(rank >= size / 2);
        let parts = Communicator::split_all(&self.communicators, |rank| (Some(color(rank)), -(rank as i64)))?;
        let l = Layout::contiguous(1);
        let mut numbers = Vec::new();
        for (rank, part) in parts.iter().enumerate() {
            let members: Vec<usize> = (0..size).rev().filter(|&r| color(r) == color(rank)).collect();
            let Some(part) = part else { return Err(Failed::new("a rank with a color got no communicator")) };
            ensure!(part.size() == members.len(), "a part has {} ranks, not {}", part.size(), members.len());
            ensure!(members[part.rank()] == rank, "rank {rank} has place {} of {members:?}", part.rank());
            numbers.push((part.device().storage_from_slice(&[rank as i32])?, members));
        }
        let calls = parts.iter().flatten().zip(&mut numbers);
        Communicator::group(calls.map(|(part, (x, _))| (part, Call::broadcast(x, &l, 0))))?;
        for (x, members) in &numbers {
            ensure!(x.to_vec::<i32>()? == [members[0] as i32], "a broadcast within a part brought another number");
        }
        Ok(())
    }

    /// A rank that does not come, or leaves, is an error for the others; their devices go on.
    fn one_is_missing(mut self, case: &mut Case<'_, D>) -> Checked {
        let missing = case.between(0, self.size() - 1);
        let leaves = case.draw.chance(50);
        case.say(format_args!("rank {missing} {}", if leaves { "leaves" } else { "does not come" }));
        let gone = self.communicators.remove(missing);
        self.communicators.iter_mut().for_each(|c| c.set_timeout(Duration::from_millis(20)));
        let kept = if leaves { None } else { Some(gone) };
        let calls = self.communicators.iter().map(|c| (c, Call::barrier()));
        fails(Communicator::group(calls), ErrorKind::CommunicatorFailed, &[&format!("rank {missing}")])?;
        drop(kept);
        self.mirrors.iter().try_for_each(Mirror::check)
    }
}

/// Makes the calls of all ranks, each on its stream: in threads, or in one group. An operand is a
/// rank's destination, with its other buffers.
fn make<D: BackendDevice>(
    drawn: &Drawn,
    communicators: &[Communicator<D>],
    streams: &[Stream],
    operands: &mut [(D::Storage, &Buffers<D::Storage>)],
    by_threads: bool,
) -> Result<()> {
    let ranks = communicators.iter().zip(operands);
    if !by_threads {
        let _entered: Vec<_> =
            communicators.iter().zip(streams).map(|(c, s)| c.device().enter_stream(s)).collect::<Result<_>>()?;
        return Communicator::group(ranks.flat_map(|(c, (dst, buffers))| drawn.calls(c, dst, buffers)));
    }
    std::thread::scope(|scope| {
        let threads = ranks.zip(streams).map(|((c, (dst, buffers)), stream)| {
            scope.spawn(move || c.device().with_stream(stream, || Communicator::group(drawn.calls(c, dst, buffers))))
        });
        let threads: Vec<_> = threads.collect();
        // A panic continues in the thread of the case, where it is caught.
        let joined = threads.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        joined.fold(Ok(()), Result::and)
    })
}

impl Drawn {
    /// Returns the calls of a rank.
    fn calls<'a, D: BackendDevice>(
        &'a self,
        rank: &'a Communicator<D>,
        dst: &'a mut D::Storage,
        buffers: &'a Buffers<D::Storage>,
    ) -> Vec<(&'a Communicator<D>, Call<'a, D::Storage>)> {
        let to = &self.dst.1;
        let src = match &buffers[self.src.0] {
            Some(src) if !self.in_place => Src::Storage(src, &self.src.1),
            _ => Src::InPlace,
        };
        let call = match self.collective {
            Collective::AllReduce(op) => Call::all_reduce(src, dst, to, op),
            Collective::Reduce { op, root } => Call::reduce(src, Some((dst, to)), op, root),
            Collective::AllGather => Call::all_gather(src, dst, to),
            Collective::ReduceScatter(op) => Call::reduce_scatter(src, dst, to, op),
            Collective::Broadcast { root } => Call::broadcast(dst, to, root),
            Collective::AllToAll => Call::all_to_all(src, dst, to),
            Collective::Barrier => Call::barrier(),
            // A ring: each rank sends to the next one.
            _ => Call::recv(dst, to, (rank.rank() + rank.size() - 1) % rank.size()),
        };
        let sends = matches!(self.collective, Collective::Send { .. });
        let next = (rank.rank() + 1) % rank.size();
        let send = src.storage().filter(|_| sends).map(|(src, from)| Call::send(src, from, next));
        [call].into_iter().chain(send).map(|call| (rank, call)).collect()
    }
}

/// Draws a collective that suits the ranks' buffers.
fn draw<D: BackendDevice>(case: &mut Case<'_, D>, ranks: &Ranks<D>) -> Drawn {
    let form = &ranks.mirrors[0].shape;
    let (size, side) = (ranks.size(), form.side);
    let dst = case.between(0, form.dtypes.len() - 1);
    let dtype = form.dtypes[dst];
    let src =
        (0..form.dtypes.len()).find(|&i| i != dst && form.dtypes[i] == dtype).expect("there are two of each dtype");
    let root = case.between(0, size - 1);
    let op =
        case.draw.one_of(&[ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max]);
    let op = if op.takes(dtype) { op } else { ReduceOp::Sum };
    let reduces = case.device.supports(&Op::Reduce(Reduce::new(op, &[0])), &[dtype; 2]).is_supported();
    let all = [
        Collective::AllGather,
        Collective::AllToAll,
        Collective::Broadcast { root },
        Collective::Send { to: root },
        Collective::Barrier,
        Collective::AllReduce(op),
        Collective::AllReduce(op),
        Collective::Reduce { op, root },
        Collective::ReduceScatter(op),
    ];
    let collective = case.draw.one_of(if reduces { &all } else { &all[..5] });
    let in_place = match collective {
        Collective::Broadcast { .. } => true,
        Collective::Send { .. } | Collective::ReduceScatter(_) => false,
        _ => case.draw.chance(40),
    };
    // The elements of a source and of a destination, where one has a part for each rank.
    let part = case.between(0, side * side / size);
    let (from, to) = match collective {
        Collective::AllGather => (flat(case, side, part), flat(case, side, part * size)),
        Collective::ReduceScatter(_) => (flat(case, side, part * size), flat(case, side, part)),
        Collective::AllToAll => (flat(case, side, part * size), flat(case, side, part * size)),
        _ => {
            let rows = case.between(1, side);
            (view(case, side, rows), view(case, side, rows))
        }
    };
    Drawn { collective, src: (src, from), dst: (dst, to), in_place }
}

/// Draws `rows` rows or columns of a square matrix.
fn view<D: BackendDevice>(case: &mut Case<'_, D>, side: usize, rows: usize) -> Layout {
    let whole = Layout::contiguous([side, side]);
    let turned = if case.draw.chance(40) { whole.transpose(0, 1) } else { Ok(whole.clone()) };
    let start = case.between(0, side - rows);
    turned.and_then(|l| l.narrow(0, start, rows)).unwrap_or(whole)
}

/// Draws `count` elements of a square matrix, one after the other or every second one.
fn flat<D: BackendDevice>(case: &mut Case<'_, D>, side: usize, count: usize) -> Layout {
    let len = side * side;
    if count > 0 && 2 * count <= len && case.draw.chance(40) {
        let start = case.between(0, len - 2 * count);
        if let Ok(layout) = Layout::new([count], Dims::from_slice(&[2]), start) {
            return layout;
        }
    }
    Layout::contiguous_with_offset([count], case.between(0, len - count))
}

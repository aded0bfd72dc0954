//! A rank of a group of devices, and the calls it can make.

use super::call::Call;
use super::room::{Failure, Room};
use super::run::run;
use super::wait::{changes, names, wait};
use crate::{BackendDevice, Error, ErrorKind, Layout, ReduceOp, Result, Src};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One rank of a group of devices that make the same calls together.
///
/// All ranks make the same calls in the same order, with the same parameters, dtype and number of
/// elements. A rank's operands live on its device, with any layout. Dtypes: all of those that
/// move, those of [`Reduce`](crate::Reduce) for the others.
///
/// ```rust
/// use isobit_hal::collective::Call;
/// use isobit_hal::{BackendDevice, BackendStorage, Communicator, CpuDevice, Layout};
///
/// // One thread that has all ranks groups their calls.
/// let ranks = Communicator::from_devices(&[CpuDevice, CpuDevice, CpuDevice])?;
/// let (one, all) = (Layout::contiguous(1), Layout::contiguous(3));
/// let own = [7i32, 8, 9].map(|x| CpuDevice.storage_from_slice(&[x]).unwrap());
/// let mut gathered = [(); 3].map(|()| CpuDevice.storage_from_slice(&[0i32; 3]).unwrap());
/// let calls = ranks.iter().zip(own.iter().zip(&mut gathered));
/// let calls = calls.map(|(rank, (x, y))| (rank, Call::all_gather((x, &one).into(), y, &all)));
/// Communicator::group(calls)?;
/// for y in &gathered {
///     assert_eq!(y.to_vec::<i32>()?, [7, 8, 9]);
/// }
/// # Ok::<(), isobit_hal::Error>(())
/// ```
///
/// # Errors of every call
/// - `InvalidArgument` if the ranks do not make the same call, if the call of one rank is refused,
///   or if a rank does not exist: on every rank, and the communicator goes on;
/// - the [common errors](crate::BackendStorage#common-errors) of the rank's own operands;
/// - `CommunicatorFailed` if a rank has [left](Self#dropping), has failed in the middle of the
///   call, has [aborted](Self::abort), or does not come within the [time-out](Self::set_timeout).
///   Except after a rank has left, the communicator is then of no more use. The devices are;
/// - `CaptureViolation` while a graph is being captured, because the host meets the other ranks;
/// - the drivers' errors.
///
/// # Dropping
/// A rank leaves when its communicator is dropped. What it has taken part in is completed; the
/// others get an error from the first call that it has not made.
#[derive(Debug)]
pub struct Communicator<D: BackendDevice> {
    room: Arc<Room<D::Storage>>,
    rank: usize,
    device: D,
    timeout: Duration,
}

impl<D: BackendDevice> Communicator<D> {
    /// The time-out of a new communicator: 10 minutes, as in PyTorch.
    pub const TIMEOUT: Duration = Duration::from_secs(600);

    /// Creates a communicator over devices of this process: rank r is `devices[r]`. A device may be
    /// named several times. The ranks may be sent to other threads.
    ///
    /// Elements travel directly between devices that [can access each
    /// other](BackendDevice::can_access_peer), and through the host otherwise.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no device.
    pub fn from_devices(devices: &[D]) -> Result<Vec<Self>> {
        if devices.is_empty() {
            let message = "a communicator needs at least one device; none was given";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let room = Room::new(devices.len());
        let of = |(rank, device): (usize, &D)| Self {
            room: room.clone(),
            rank,
            device: device.clone(),
            timeout: Self::TIMEOUT,
        };
        Ok(devices.iter().enumerate().map(of).collect())
    }

    /// Returns the number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.room.size()
    }

    /// Returns the device of this rank.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns how long a call of this rank waits for the other ranks.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sets how long a call of this rank waits for the other ranks.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    pub(super) fn room(&self) -> &Room<D::Storage> {
        &self.room
    }

    /// Combines the elements of all ranks and gives the result to every rank. `src` and `dst` have
    /// the same number of elements; `src` may be [`Src::InPlace`].
    ///
    /// `op` is one of sum, prod, mean, min and max. The result is that of
    /// [`Reduce`](crate::Reduce) over the first dimension of the ranks' elements, stacked in the
    /// order of the ranks.
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call).
    pub fn all_reduce(
        &self,
        src: Src<'_, D::Storage>,
        dst: &mut D::Storage,
        dst_layout: &Layout,
        op: ReduceOp,
    ) -> Result<()> {
        self.call(Call::all_reduce(src, dst, dst_layout, op))
    }

    /// Combines the elements of all ranks, as [`all_reduce`](Self::all_reduce), and gives the
    /// result to rank `root`. Other ranks need no destination; if they have one, it is their source
    /// with [`Src::InPlace`], and it does not change.
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call).
    pub fn reduce(
        &self,
        src: Src<'_, D::Storage>,
        dst: Option<(&mut D::Storage, &Layout)>,
        op: ReduceOp,
        root: usize,
    ) -> Result<()> {
        self.call(Call::reduce(src, dst, op, root))
    }

    /// Gives every rank the elements of all, in the order of the ranks: `dst` has
    /// [`size`](Self::size) times the elements of `src`. With [`Src::InPlace`], the elements of
    /// rank r are part r of its destination.
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call).
    pub fn all_gather(&self, src: Src<'_, D::Storage>, dst: &mut D::Storage, dst_layout: &Layout) -> Result<()> {
        self.call(Call::all_gather(src, dst, dst_layout))
    }

    /// Combines the elements of all ranks, as [`all_reduce`](Self::all_reduce), and gives part r of
    /// the result to rank r: `src` has [`size`](Self::size) times the elements of `dst`.
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call).
    pub fn reduce_scatter(
        &self,
        src: Src<'_, D::Storage>,
        dst: &mut D::Storage,
        dst_layout: &Layout,
        op: ReduceOp,
    ) -> Result<()> {
        self.call(Call::reduce_scatter(src, dst, dst_layout, op))
    }

    /// Overwrites the elements of every rank with those of rank `root`.
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call).
    pub fn broadcast(&self, dst: &mut D::Storage, dst_layout: &Layout, root: usize) -> Result<()> {
        self.call(Call::broadcast(dst, dst_layout, root))
    }

    /// Gives part r of every rank's elements to rank r, in the order of the ranks that they come
    /// from. `src` and `dst` have the same number of elements, a multiple of [`size`](Self::size);
    /// `src` may be [`Src::InPlace`].
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call).
    pub fn all_to_all(&self, src: Src<'_, D::Storage>, dst: &mut D::Storage, dst_layout: &Layout) -> Result<()> {
        self.call(Call::all_to_all(src, dst, dst_layout))
    }

    /// Sends elements to rank `to`. Does not wait for the rank to receive them; messages from one
    /// rank to another arrive in order. Sends and receipts are not counted among the calls that all
    /// ranks make alike.
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call).
    pub fn send(&self, src: &D::Storage, layout: &Layout, to: usize) -> Result<()> {
        self.call(Call::send(src, layout, to))
    }

    /// Receives the elements that rank `from` sends next.
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call); `InvalidArgument` if the message has
    /// another dtype or number of elements than `dst_layout`. The message is then gone.
    pub fn recv(&self, dst: &mut D::Storage, dst_layout: &Layout, from: usize) -> Result<()> {
        self.call(Call::recv(dst, dst_layout, from))
    }

    /// Waits until all work of the current stream of each rank's device is done, on every rank.
    ///
    /// # Errors
    /// The [errors of every call](Self#errors-of-every-call), and the errors of the work.
    pub fn barrier(&self) -> Result<()> {
        self.call(Call::barrier())
    }

    fn call(&self, call: Call<'_, D::Storage>) -> Result<()> {
        run(std::iter::once((self, call)))
    }

    /// Makes several calls at once: those of several ranks that one thread has, or several calls of
    /// one rank, in order. A thread that has several ranks needs this, because one call would wait
    /// for the others. It also lets ranks send and receive at the same time.
    ///
    /// # Errors
    /// The first error of a call. The other calls are made nevertheless.
    pub fn group<'a>(calls: impl IntoIterator<Item = (&'a Self, Call<'a, D::Storage>)>) -> Result<()> {
        run(calls.into_iter())
    }

    /// Creates smaller communicators: the ranks that give the same color form one, in the order of
    /// their keys, and of their ranks for equal keys. A rank without a color gets none. All ranks
    /// make this call; a thread that has several ranks makes it with
    /// [`split_all`](Self::split_all).
    ///
    /// ```rust
    /// # use isobit_hal::{Communicator, CpuDevice};
    /// let ranks = Communicator::from_devices(&[CpuDevice; 4])?;
    /// // Even and odd ranks, each in descending order.
    /// let wish = |rank: usize| (Some(rank as u32 % 2), -(rank as i64));
    /// let halves = Communicator::split_all(&ranks, wish)?;
    /// let places: Vec<_> = halves.iter().flatten().map(|c| (c.rank(), c.size())).collect();
    /// assert_eq!(places, [(1, 2), (1, 2), (0, 2), (0, 2)]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CommunicatorFailed`, as for every call.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>> {
        Ok(Self::split_ranks(&[self], |_| (color, key))?.pop().flatten())
    }

    /// Calls [`split`](Self::split) for several ranks of one thread, with the color and the key
    /// that `wish` returns for a rank. The results are in the order of `ranks`.
    ///
    /// # Errors
    /// As [`split`](Self::split).
    pub fn split_all(ranks: &[Self], wish: impl Fn(usize) -> (Option<u32>, i64)) -> Result<Vec<Option<Self>>> {
        Self::split_ranks(&ranks.iter().collect::<Vec<_>>(), wish)
    }

    fn split_ranks(ranks: &[&Self], wish: impl Fn(usize) -> (Option<u32>, i64)) -> Result<Vec<Option<Self>>> {
        let asked = ranks.iter().map(|of| {
            let (color, key) = wish(of.rank);
            of.room.ask(of.rank, color, key).map_err(|why| of.failed(why))
        });
        let asked = asked.collect::<Result<Vec<_>>>()?;
        ranks.iter().zip(asked).map(|(of, number)| of.wait_for_place(number)).collect()
    }

    fn wait_for_place(&self, number: u64) -> Result<Option<Self>> {
        let until = Instant::now().checked_add(self.timeout);
        loop {
            let seen = changes();
            if let Some(place) = self.room.place(number, self.rank).map_err(|why| self.failed(why))? {
                let of = |(room, rank)| Self { room, rank, device: self.device.clone(), timeout: self.timeout };
                return Ok(place.map(of));
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                let missing = names(&self.room.not_asked(number));
                let why = format!("rank {} waited {:?} in split for {missing}", self.rank, self.timeout);
                self.room.fail(why.clone());
                return Err(self.failed(why));
            }
            wait(seen, until);
        }
    }

    fn failed(&self, why: Failure) -> Error {
        Error::new(ErrorKind::CommunicatorFailed, why).with_op("split").with_device(self.device.location())
    }

    /// Ends the communicator for all ranks: calls that wait, and all later ones, return
    /// `CommunicatorFailed`. Work that is enqueued is not affected.
    pub fn abort(&self) {
        self.room.fail(format!("rank {} aborted the communicator", self.rank));
    }
}

impl<D: BackendDevice> Drop for Communicator<D> {
    fn drop(&mut self) {
        self.room.leave(self.rank);
    }
}

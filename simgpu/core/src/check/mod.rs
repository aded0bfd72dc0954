//! The check of one memory instruction of one wave: bounds, alignment, initialisation, races.
//!
//! Nearly every instruction accesses one run of bytes inside one allocation without an error. A
//! fast path checks this for the whole wave. Everything else is checked lane by lane, which also
//! creates the findings.

pub(crate) mod lanes;
pub mod part;
pub(crate) mod report;
mod violation;

pub use lanes::lanes_of;
pub use violation::Violation;

use crate::finding::Findings;
use crate::memory::{Dispatch, Kind, Memory, Table};
use crate::print::Output;
use crate::race::atomic_order::{Order, Ticket};
use crate::race::tag;
use crate::race::track::Track;
use crate::watch;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use violation::Violations;

/// Maximum number of lanes of a wave.
pub const LANES: usize = 64;

/// The position of a wave in the launch and in its execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// The linear index of its work group.
    pub group: u32,
    /// The wave's number in the group, below 32.
    pub wave: u32,
    /// Number of barriers of the group that the wave has passed.
    pub epoch: u32,
}

/// The kind of memory access of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// A read.
    Load,
    /// A write.
    Store,
    /// An atomic read-modify-write.
    Atomic,
    /// A read that does not race with atomics.
    AtomicLoad,
    /// A write that does not race with atomics.
    AtomicStore,
    /// A plain read whose value a compare-and-swap compares (see [`race`](crate::race)): it does
    /// not race with atomics, but it orders nothing.
    ComparedLoad,
}

impl Access {
    /// Whether it does not race with other atomics.
    #[inline(always)]
    pub fn is_atomic(self) -> bool {
        !matches!(self, Self::Load | Self::Store)
    }

    /// Whether it orders what comes before and after it, as atomics do.
    #[inline(always)]
    pub fn orders(self) -> bool {
        matches!(self, Self::Atomic | Self::AtomicLoad | Self::AtomicStore)
    }

    /// Whether it reads.
    #[inline(always)]
    pub fn reads(self) -> bool {
        !matches!(self, Self::Store | Self::AtomicStore)
    }

    /// Whether it writes.
    #[inline(always)]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Load | Self::AtomicLoad | Self::ComparedLoad)
    }
}

/// The smallest accesses of a kernel to shared memories, in bytes. Accesses are recorded at this
/// granularity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granules {
    /// Of global memory.
    pub global: u32,
    /// Of local memory.
    pub local: u32,
}

/// The granules of a kernel without accesses, which is the coarsest granularity.
impl Default for Granules {
    fn default() -> Self {
        4.into()
    }
}

impl Granules {
    /// Takes an access of `bytes` bytes to global memory into account.
    pub fn note_global(&mut self, bytes: u32) {
        self.global = self.global.min(bytes);
    }

    /// Takes an access of `bytes` bytes to local memory into account.
    pub fn note_local(&mut self, bytes: u32) {
        self.local = self.local.min(bytes);
    }
}

impl From<u32> for Granules {
    fn from(bytes: u32) -> Self {
        Self { global: bytes, local: bytes }
    }
}

/// In which memories a GPU's atomic stores look like plain ones (see
/// [`Launch::with_unmarked_stores`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnmarkedStores {
    /// In global memory.
    pub global: bool,
    /// In local memory.
    pub local: bool,
}

/// Names the parts of a launch for findings. Called only if there is a finding.
pub trait Describe {
    /// Returns the instruction `site`, with its place in the kernel.
    fn instruction(&self, site: u32) -> String;
    /// Returns the thread in `lane` of the wave at `place`, with its group.
    fn thread(&self, place: &Place, lane: u32) -> String;
}

/// The allocation that an instruction accessed last. One cache per instruction and host thread
/// works best; it may outlive launches.
#[derive(Debug, Clone, Copy, Default)]
pub struct SiteCache {
    launch: u64,
    base: u64,
    end: u64,
    writable: bool,
    /// Neither initialisation nor races are checked: no kernel writes the bytes, or they are
    /// [`Kind::Runtime`].
    untracked: bool,
    initialised: bool,
}

impl SiteCache {
    #[inline(always)]
    fn holds(&self, launch: u64, address: u64) -> bool {
        self.launch == launch && self.base <= address && address < self.end
    }
}

/// The result of a check.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checked {
    /// The lanes whose access may be made.
    pub lanes: u64,
    /// Further lanes, whose access may be made only to its [`Part`](part::Part) inside of memory.
    /// It is made with [`apart`](part::apart). For a load, they include lanes that are wholly
    /// outside, because those read zeros.
    pub clipped: u64,
    /// For a store: lanes that write a byte that an earlier lane also writes. This is a
    /// race unless both write the same value, which only the caller knows. The caller reports it
    /// with [`Launch::overlapping`].
    pub overlap: u64,
    pub(crate) ticket: Ticket,
}

/// One launch of a kernel.
pub struct Launch<'a> {
    kernel: &'a str,
    memory: &'a Memory,
    findings: &'a Findings,
    table: Arc<Table>,
    track: Track<'a>,
    local_granule: u32,
    local_unit: u32,
    order: Option<Order>,
    unmarked: UnmarkedStores,
    id: u64,
    violations: Violations,
    output: Option<&'a Output>,
    unaligned: bool,
    _dispatch: Dispatch<'a>,
}

/// Distinguishes launches in caches, because dispatch numbers are reused.
static LAUNCHES: AtomicU64 = AtomicU64::new(1);

impl<'a> Launch<'a> {
    /// Starts a launch of `kernel`. `atomics` says whether it has atomics.
    pub fn new(
        kernel: &'a str,
        memory: &'a Memory,
        findings: &'a Findings,
        granules: impl Into<Granules>,
        atomics: bool,
    ) -> Self {
        let dispatch = memory.dispatch();
        let granules = granules.into();
        let log = |bytes: u32| bytes.clamp(1, 4).ilog2();
        Self {
            kernel,
            memory,
            findings,
            table: memory.table(),
            track: Track {
                shadow: memory.shadow(),
                dispatch: dispatch.number << tag::DISPATCH_AT,
                granule: log(granules.global),
            },
            local_granule: log(granules.local),
            local_unit: 1,
            order: atomics.then(Order::default),
            unmarked: UnmarkedStores::default(),
            id: LAUNCHES.fetch_add(1, Ordering::Relaxed),
            violations: Violations::default(),
            output: None,
            unaligned: false,
            _dispatch: dispatch,
        }
    }

    /// Sets the number of bytes in units of which the card allocates local memory.
    #[must_use]
    pub fn with_local_unit(mut self, local_unit: u32) -> Self {
        self.local_unit = local_unit;
        self
    }

    /// Says in which memories the instruction of an atomic store may be that of a plain one. A
    /// plain store there does not race with an atomic load, and an atomic load that finds its value
    /// acquires what the storing wave did before.
    #[must_use]
    pub fn with_unmarked_stores(mut self, unmarked: UnmarkedStores) -> Self {
        self.unmarked = unmarked;
        self
    }

    /// Sets where `printf` of the kernel prints.
    #[must_use]
    pub fn printing_to(mut self, output: &'a Output) -> Self {
        self.output = Some(output);
        self
    }

    /// Allows vector accesses at any address, except for read-modify-writes. Races of accesses that
    /// are not aligned are not found.
    #[must_use]
    pub fn allowing_unaligned(mut self) -> Self {
        self.unaligned = true;
        self
    }

    /// Returns where `printf` of the kernel prints, if there is such a place.
    pub fn output(&self) -> Option<&Output> {
        self.output
    }

    /// Returns the kernel's name.
    pub fn kernel(&self) -> &str {
        self.kernel
    }

    /// Returns the collector of findings.
    pub fn findings(&self) -> &Findings {
        self.findings
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.memory
    }

    /// Returns the allocations at the start of the launch.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Checks an access of `bytes` bytes by each lane of `mask` to its address in `addresses`,
    /// which must be a multiple of `align` (a power of two). Written bytes count as initialised.
    /// `site` identifies the instruction for `describe`.
    ///
    /// The caller performs atomics of all kinds after the check and then calls
    /// [`performed`](Self::performed).
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "an access has that many properties, and this is the hot path")]
    pub fn check(
        &self,
        who: &Place,
        access: Access,
        site: u32,
        mask: u64,
        addresses: &[u64; LANES],
        bytes: u32,
        align: u32,
        cache: &mut SiteCache,
        describe: &dyn Describe,
    ) -> Checked {
        if !access.is_atomic()
            && let Some((address, lanes)) = run(mask, addresses, u64::from(bytes))
            && self.check_run(who, access, address, lanes * u64::from(bytes), align, cache)
        {
            return Checked { lanes: mask, ..Checked::default() };
        }
        self.check_scattered(who, access, site, mask, addresses, bytes, align, cache, describe)
    }

    /// Like [`check`](Self::check), for callers that have already tried
    /// [`check_run`](Self::check_run).
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "as for `check`")]
    pub fn check_scattered(
        &self,
        who: &Place,
        access: Access,
        site: u32,
        mask: u64,
        addresses: &[u64; LANES],
        bytes: u32,
        align: u32,
        cache: &mut SiteCache,
        describe: &dyn Describe,
    ) -> Checked {
        let unaligned = self.unaligned && access != Access::Atomic;
        self.check_lanes(&lanes::Wave { who, access, site, mask, addresses, bytes, align, unaligned, describe }, cache)
    }

    /// Checks an access of a whole wave to all `bytes` bytes at `address`, for callers that know
    /// that the lanes' addresses are contiguous. Returns false if there may be an error or the case
    /// is not simple; the caller must then call [`check`](Self::check). Not for atomics.
    #[inline(always)]
    pub fn check_run(
        &self,
        who: &Place,
        access: Access,
        address: u64,
        bytes: u64,
        align: u32,
        cache: &mut SiteCache,
    ) -> bool {
        if !cache.holds(self.id, address) {
            if watch::on() {
                return false;
            }
            let Some(found) = self.table.find(address) else { return false };
            *cache = self.site_cache(found.base, found.bytes, found.kind);
        }
        if bytes > cache.end - address || address & u64::from(align - 1) != 0 {
            return false;
        }
        if cache.untracked {
            return access == Access::Load || cache.writable && access == Access::Store;
        }
        let offset = address - self.memory.start();
        let shadow = self.track.shadow;
        // SAFETY: one live allocation contains the bytes, so their shadow is committed.
        unsafe {
            match access {
                Access::Load => {
                    if !cache.initialised && !shadow.initialised(offset, bytes) {
                        return false;
                    }
                }
                Access::Store => shadow.set_initialised(offset, bytes, true),
                _ => return false,
            }
            self.track.note(tag::of(self.track.dispatch, who), access, offset, offset + bytes).is_none()
        }
    }

    /// Checks a load of `bytes` bytes at one address by a whole wave, such as a scalar load.
    /// `access` is a load or a compared one. Returns whether it may be made; if not, it may be made
    /// to its [`part`](Self::part).
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "as for `check`")]
    pub fn check_uniform(
        &self,
        who: &Place,
        access: Access,
        site: u32,
        address: u64,
        bytes: u32,
        align: u32,
        cache: &mut SiteCache,
        describe: &dyn Describe,
    ) -> bool {
        if self.check_run(who, access, address, u64::from(bytes), align, cache) {
            return true;
        }
        let addresses = &[address; LANES];
        let (mask, unaligned) = (1, false);
        let wave = lanes::Wave { who, access, site, mask, addresses, bytes, align, unaligned, describe };
        self.check_lanes(&wave, cache).lanes == 1
    }

    /// Records that the atomics of a check were performed. Later accesses of their wave have then
    /// acquired what others released before.
    pub fn performed(&self, who: &Place, access: Access, addresses: &[u64], checked: &Checked) {
        let Some(order) = &self.order else { return };
        if self.unmarked.global && access.reads() {
            self.acquire_late(order, who, access, addresses, checked.lanes);
        }
        order.done(checked.ticket);
    }

    fn site_cache(&self, base: u64, bytes: u64, kind: Kind) -> SiteCache {
        SiteCache {
            launch: self.id,
            base,
            end: base + bytes,
            writable: kind.writable(),
            untracked: !kind.tracked(),
            initialised: kind.initialised(),
        }
    }

    pub(crate) fn order(&self) -> Option<&Order> {
        self.order.as_ref()
    }

    /// Returns the number of bytes in units of which the card allocates local memory.
    pub(crate) fn local_unit(&self) -> u32 {
        self.local_unit
    }

    pub(crate) fn unmarked(&self) -> UnmarkedStores {
        self.unmarked
    }

    /// Returns the binary logarithm of the size of a granule of local memory.
    pub(crate) fn local_granule(&self) -> u32 {
        self.local_granule
    }
}

/// Returns the first address and the number of lanes if the lanes of `mask` are consecutive and
/// their accesses contiguous.
#[inline(always)]
pub fn run(mask: u64, addresses: &[u64; LANES], bytes: u64) -> Option<(u64, u64)> {
    run_by(mask, addresses, |start, i| start.wrapping_add(i * bytes), |a, b| a ^ b)
}

/// Like [`run`], for addresses of local memory.
#[inline(always)]
pub fn run_local(mask: u64, addresses: &[u32; LANES], bytes: u32) -> Option<(u32, u64)> {
    run_by(mask, addresses, |start, i| start.wrapping_add(i as u32 * bytes), |a, b| a ^ b)
}

#[inline(always)]
fn run_by<A>(
    mask: u64,
    addresses: &[A; LANES],
    follows: impl Fn(A, u64) -> A,
    differ: impl Fn(A, A) -> A,
) -> Option<(A, u64)>
where
    A: Copy + Default + PartialEq + std::ops::BitOrAssign,
{
    if mask == 0 {
        return None;
    }
    let first = mask.trailing_zeros();
    let lanes = (!(mask >> first)).trailing_zeros();
    if mask.count_ones() != lanes {
        return None;
    }
    let start = addresses[first as usize];
    let mut different = A::default();
    let mut compare = |addresses: &[A]| {
        for (i, address) in addresses.iter().enumerate() {
            different |= differ(*address, follows(start, i as u64));
        }
    };
    // For a full wave, the compiler knows the length.
    match lanes as usize {
        LANES => compare(addresses),
        lanes => compare(&addresses[first as usize..first as usize + lanes]),
    }
    (different == A::default()).then_some((start, u64::from(lanes)))
}

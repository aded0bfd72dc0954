//! The buffer through which waves call the host, as ROCm's device library (`hostcall_impl.cl`)
//! defines it: packets in a free stack and a ready stack, and a signal that interrupts the host.
//!
//! A wave takes a packet from the free stack, fills its header and one slot of eight words for each
//! lane, pushes it to the ready stack, adds one to the signal and sends the host a message. When
//! the host has cleared the ready flag, the wave takes its results from the slots and pushes the
//! packet to the free stack.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of packets. A wave holds one from taking it to giving it back; the message to the
/// host is answered in between without a turn of another wave, so few waves hold one at a time.
const PACKETS: usize = 1024;
/// The words of a lane's slot.
pub(super) const SLOT: usize = 8;

/// Offsets in the buffer: pointers to the headers and to the payloads, the signal's address, the
/// tops of the stacks, and the mask of a packet's number in a pointer of a stack.
const HEADERS_AT: u64 = 0;
const PAYLOADS_AT: u64 = 8;
const DOORBELL: u64 = 16;
const FREE: u64 = 24;
const READY: u64 = 32;
const INDEX_MASK: u64 = 40;
/// The signal (`amd_signal_t`), and its mailbox.
const SIGNAL: u64 = 64;
const MAILBOX: u64 = 128;
const HEADERS: u64 = 192;
const HEADER: u64 = 24;
const PAYLOADS: u64 = (HEADERS + HEADER * PACKETS as u64).next_multiple_of(64);
const PAYLOAD: u64 = 64 * 8 * SLOT as u64;
/// The size of the buffer.
pub(super) const BYTES: usize = (PAYLOADS + PAYLOAD * PACKETS as u64) as usize;

/// Offsets in the signal. A signal whose mailbox has an address interrupts the host.
const SIGNAL_KIND: u64 = 0;
const SIGNAL_MAILBOX: u64 = 16;
const SIGNAL_EVENT: u64 = 24;
/// `AMD_SIGNAL_KIND_USER`
const USER_SIGNAL: u64 = 1;

/// Offsets in a header.
const NEXT: u64 = 0;
const ACTIVE: u64 = 8;
const SERVICE: u64 = 16;
const CONTROL: u64 = 20;
/// The bit of the control word that the host clears.
const READY_FLAG: u32 = 1;

/// A buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packets {
    base: u64,
}

/// A packet that waits for the host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    header: u64,
    payload: u64,
}

/// Returns a word of the buffer.
///
/// # Safety
/// The address is in a live buffer and a multiple of eight.
unsafe fn wide<'a>(address: u64) -> &'a AtomicU64 {
    // SAFETY: as the caller promises. A kernel writes headers and slots with plain stores, before
    // the release that pushes the packet, which `ready` acquires. A kernel that breaks this
    // protocol gets any value; indices are masked, so no access leaves the buffer.
    unsafe { AtomicU64::from_ptr(address as *mut u64) }
}

/// As [`wide`], for a word of four bytes.
///
/// # Safety
/// The address is in a live buffer and a multiple of four.
unsafe fn word<'a>(address: u64) -> &'a AtomicU32 {
    // SAFETY: as the caller promises.
    unsafe { AtomicU32::from_ptr(address as *mut u32) }
}

impl Packets {
    /// Prepares a buffer whose packets are all free, in an allocation of [`BYTES`] bytes.
    pub(super) fn new(base: u64) -> Self {
        let put = |at: u64, value: u64| {
            // SAFETY: the offsets are below the size of the allocation, and multiples of eight.
            unsafe { wide(base + at) }.store(value, Ordering::Relaxed);
        };
        put(HEADERS_AT, base + HEADERS);
        put(PAYLOADS_AT, base + PAYLOADS);
        put(DOORBELL, base + SIGNAL);
        put(INDEX_MASK, PACKETS as u64 - 1);
        put(SIGNAL + SIGNAL_KIND, USER_SIGNAL);
        put(SIGNAL + SIGNAL_MAILBOX, base + MAILBOX);
        put(SIGNAL + SIGNAL_EVENT, 1);
        // The bits above the mask count how often a packet was free. They are not all zero, because
        // a pointer of zero is the end of a stack.
        let pointer = |index: usize| (PACKETS + index) as u64;
        for index in 0..PACKETS {
            let next = if index == 0 { 0 } else { pointer(index - 1) };
            put(HEADERS + HEADER * index as u64 + NEXT, next);
        }
        put(READY, 0);
        // SAFETY: as above.
        unsafe { wide(base + FREE) }.store(pointer(PACKETS - 1), Ordering::Release);
        Self { base }
    }

    /// Returns its address.
    pub(super) fn address(self) -> u64 {
        self.base
    }

    /// Takes all packets that wait, the oldest first.
    pub(super) fn ready(self) -> Vec<Packet> {
        // SAFETY: the buffer is live, and the offset a multiple of eight.
        let mut top = unsafe { wide(self.base + READY) }.swap(0, Ordering::Acquire);
        let mut packets = Vec::new();
        // There cannot be more packets, unless the kernel has damaged the stack.
        while top != 0 && packets.len() < PACKETS {
            let index = top & (PACKETS as u64 - 1);
            let packet = Packet {
                header: self.base + HEADERS + HEADER * index,
                payload: self.base + PAYLOADS + PAYLOAD * index,
            };
            packets.push(packet);
            // SAFETY: the index is below the number of packets.
            top = unsafe { wide(packet.header + NEXT) }.load(Ordering::Relaxed);
        }
        packets.reverse();
        packets
    }
}

impl Packet {
    /// Returns the lanes that call.
    pub(super) fn lanes(self) -> u64 {
        // SAFETY: the packet is in a live buffer.
        unsafe { wide(self.header + ACTIVE) }.load(Ordering::Relaxed)
    }

    /// Returns the number of the service.
    pub(super) fn service(self) -> u32 {
        // SAFETY: as above.
        unsafe { word(self.header + SERVICE) }.load(Ordering::Relaxed)
    }

    /// Returns the words of a lane.
    pub(super) fn slot(self, lane: u32) -> [u64; SLOT] {
        // SAFETY: a payload has slots for 64 lanes.
        std::array::from_fn(|at| unsafe { self.at(lane, at) }.load(Ordering::Relaxed))
    }

    /// Sets the results of a lane: the first words of its slot.
    pub(super) fn answer(self, lane: u32, results: &[u64]) {
        for (at, result) in results.iter().enumerate().take(SLOT) {
            // SAFETY: as for `slot`.
            unsafe { self.at(lane, at) }.store(*result, Ordering::Relaxed);
        }
    }

    /// # Safety
    /// `lane` is below 64 and `at` below [`SLOT`].
    unsafe fn at<'a>(self, lane: u32, at: usize) -> &'a AtomicU64 {
        // SAFETY: the slot is in the packet's payload, in a live buffer.
        unsafe { wide(self.payload + 8 * (SLOT as u64 * u64::from(lane) + at as u64)) }
    }

    /// Lets the wave that waits for the packet go on.
    pub(super) fn done(self) {
        // SAFETY: the packet is in a live buffer.
        unsafe { word(self.header + CONTROL) }.fetch_and(!READY_FLAG, Ordering::Release);
    }
}

//! Copies of more than 4 GiB between host and device, and of a few bytes beyond 4 GiB: whole
//! storages, ranges, pinned memory, and from storage to storage.

use crate::case::{Dist, Values};
use crate::huge::Done;
use crate::huge::bench::{Bench, Repeat};
use crate::huge::tiled::TILE;
use crate::run::pack;
use crate::runtime_tests::case::ensure;
use crate::schema::Class;
use isobit_hal::{BackendDevice, BackendStorage, DType};

const PINNED: usize = 1 << 20;

/// Whether bytes are those of a repeated tile, from an element of the repetition on.
fn repeats(bytes: &[u8], tile: &[u8], first: usize) -> bool {
    let mut at = first % tile.len();
    let mut left = bytes;
    while !left.is_empty() {
        let (part, rest) = left.split_at(left.len().min(tile.len() - at));
        if part != &tile[at..at + part.len()] {
            return false;
        }
        (left, at) = (rest, 0);
    }
    true
}

pub(super) fn run<D: BackendDevice>(bench: &Bench<'_, D>) -> Done {
    let (device, sizes) = (bench.device, bench.sizes);
    let draw = |seed| pack(DType::U8, &Values::Drawn { dist: Dist::Uniform { scale: 7 }, seed }.bits(DType::U8, TILE));
    let (tile, other) = (draw(1), draw(2));
    let repeat = Repeat::whole(TILE, sizes.beyond_32().div_ceil(TILE));
    let (n, limit) = (repeat.len(), sizes.limit());
    let mut host = tile.repeat(repeat.tiles);

    let mut storage = device.storage_from_bytes(DType::U8, &host)?;
    bench.compare("a storage made from host memory", Class::Moved, &storage, 0, &tile, repeat)?;
    host.fill(0);
    storage.read_bytes(0, &mut host)?;
    ensure!(repeats(&host, &tile, 0), "the whole storage, read into host memory, differs");
    let copy = storage.to_cpu_storage()?;
    ensure!(repeats(copy.as_bytes(), &tile, 0), "the whole storage, copied to the host, differs");
    drop(copy);

    let mut moved = bench.storage(n, DType::U8)?;
    storage.transfer_into(&mut moved)?;
    bench.compare("a storage, transferred to another", Class::Moved, &moved, 0, &tile, repeat)?;
    drop(moved);

    // A range of more than 4 GiB that does not begin the buffer.
    let from = TILE;
    let range = &mut host[..n - TILE];
    storage.read_bytes(from, range)?;
    ensure!(repeats(range, &tile, from), "a range of {} bytes from byte {from} on, read, differs", n - TILE);
    let others = other.repeat(repeat.tiles - 1);
    storage.write_bytes(from, &others)?;
    drop(others);
    bench.compare("the tile before a written range", Class::Moved, &storage, 0, &tile, Repeat::whole(TILE, 1))?;
    let rest = Repeat::whole(TILE, repeat.tiles - 1);
    bench.compare("a range written from the host", Class::Moved, &storage, from, &other, rest)?;

    // A few bytes at and beyond the limit.
    for at in [limit / 2 - 5, limit - 5, limit + 3, n - 100] {
        storage.write_bytes(at, &tile[..100.min(n - at)])?;
        let mut read = vec![0; 100.min(n - at)];
        storage.read_bytes(at, &mut read)?;
        ensure!(read == tile[..read.len()], "bytes written at {at} are not read back");
        let back: Vec<u8> = (at..at + read.len()).map(|i| other[i % TILE]).collect();
        storage.write_bytes(at, &back)?;
    }
    bench.compare("the range after small writes", Class::Moved, &storage, from, &other, rest)?;

    let len = PINNED.min(n / 64);
    let at = n - len;
    let mut pinned = device.alloc_pinned(len)?;
    storage.copy_to_pinned(at, &mut pinned, 0..len)?;
    ensure!(repeats(pinned.bytes()?, &other, at), "pinned memory, copied from byte {at} on, differs");
    pinned.bytes_mut()?.fill(17);
    storage.copy_from_pinned(at, &pinned, 0..len)?;
    bench.compare("bytes copied from pinned memory", Class::Moved, &storage, at, &[17], Repeat::whole(1, len))?;
    let mut read = vec![0; 64];
    storage.read_bytes(at - 64, &mut read)?;
    ensure!(repeats(&read, &other, at - 64), "bytes before those copied from pinned memory changed");
    Ok(())
}

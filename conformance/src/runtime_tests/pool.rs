//! `device.pool`: the counters of the memory pool, its limits, and exhaustion, whose error reports
//! the state of the memory.

use super::case::{Case, Checked, ensure, fails};
use super::mirror::Mirror;
use super::program::{self, Steps};
use isobit_hal::{BackendDevice, DType, ErrorKind, PoolStats, Result, Shape};

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let before = case.device.pool_stats();
    counted(case)?;
    // A device that never counts has no pool. The checks below then do not apply, but the calls
    // must do no harm.
    let pooled = case.device.pool_stats() != PoolStats::default();
    cached(case)?;
    if pooled {
        limited(case)?;
    } else {
        case.device.set_memory_limit(1);
        case.device.zeros(&1000.into(), DType::F32)?;
        case.device.set_memory_limit(u64::MAX);
    }
    exhausted(case, pooled)?;
    let mut mirror = Mirror::draw(case)?;
    for _ in 0..case.between(2, 5) {
        let step = program::draw(case, &mirror, Steps::ANY);
        case.say(&step);
        mirror.step(&step)?;
    }
    mirror.check()?;
    drop(mirror);
    case.device.synchronize()?;
    let after = case.device.pool_stats();
    ensure!(
        after.in_use == before.in_use,
        "{} bytes in use before, {} after all was dropped",
        before.in_use,
        after.in_use
    );
    ensure!(after.peak >= before.peak, "the peak fell from {} to {}", before.peak, after.peak);
    Ok(())
}

/// Allocates a storage of `bytes` bytes without contents.
fn block<D: BackendDevice>(device: &D, bytes: usize) -> Result<D::Storage> {
    // SAFETY: the storage is never read.
    unsafe { device.alloc_uninit(&Shape::from([bytes]), DType::U8) }
}

/// Each storage is in use as long as it lives, and is one hit or one miss.
fn counted<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let start = case.device.pool_stats();
    let sizes: Vec<usize> = (0..case.between(1, 6)).map(|_| case.between(0, 200_000)).collect();
    case.say(format_args!("storages of {sizes:?} bytes"));
    let blocks = sizes.iter().map(|&bytes| block(case.device, bytes)).collect::<Result<Vec<_>>>()?;
    let full = case.device.pool_stats();
    if full == PoolStats::default() {
        return Ok(());
    }
    let asked: u64 = sizes.iter().map(|&b| b as u64).sum();
    let taken = full.in_use - start.in_use;
    // Size classes are at least 512 bytes and are spaced an eighth of a power of two apart.
    let most = asked + asked / 8 + 512 * sizes.len() as u64;
    ensure!((asked..=most).contains(&taken), "{taken} bytes in use for {asked} requested bytes");
    let answered = (full.hits + full.misses) - (start.hits + start.misses);
    let nonempty = sizes.iter().filter(|&&b| b > 0).count() as u64;
    ensure!(answered == nonempty, "{nonempty} allocations, {answered} counted as hits or misses");
    ensure!(full.peak >= full.in_use, "the peak of {} is below the {} in use", full.peak, full.in_use);
    let counters = case.device.counters();
    ensure!(
        (counters.pool_hits, counters.pool_misses) == (full.hits, full.misses),
        "the counters show {} hits and {} misses, but the pool {} and {}",
        counters.pool_hits,
        counters.pool_misses,
        full.hits,
        full.misses
    );
    drop(blocks);
    let end = case.device.pool_stats();
    ensure!(
        end.in_use == start.in_use,
        "{} bytes in use before, {} after storages were dropped",
        start.in_use,
        end.in_use
    );
    ensure!(end.peak == full.peak, "the peak changed while nothing was allocated");
    Ok(())
}

/// Dropped memory is kept for reuse, within the limits that are set.
fn cached<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let device = case.device;
    let bytes = case.between(1000, 100_000);
    device.trim(0);
    ensure!(device.pool_stats().cached == 0, "{} bytes stay cached after trim(0)", device.pool_stats().cached);
    drop(block(device, bytes)?);
    let kept = device.pool_stats();
    drop(block(device, bytes)?);
    let again = device.pool_stats();
    // A device may be configured to cache nothing; one that caches must reuse the cached memory.
    if kept.cached > 0 {
        ensure!(kept.cached >= bytes as u64, "{} bytes are cached for a storage of {bytes} bytes", kept.cached);
        ensure!(
            (again.hits, again.misses) == (kept.hits + 1, kept.misses),
            "a cached block was not reused: {kept:?}, then {again:?}"
        );
    }
    let blocks = [block(device, bytes)?, block(device, 2 * bytes)?, block(device, 3 * bytes)?];
    let limit = case.between(0, 7 * bytes) as u64;
    case.say(format_args!("at most {limit} bytes stay cached"));
    device.set_cache_limit(limit);
    drop(blocks);
    let cached = device.pool_stats().cached;
    ensure!(cached <= limit, "{cached} bytes are cached, but only {limit} may be");
    device.set_cache_limit(u64::MAX);
    drop([block(device, bytes)?, block(device, 5 * bytes)?]);
    let keep = case.between(0, 6 * bytes) as u64;
    device.trim(keep);
    let cached = device.pool_stats().cached;
    ensure!(cached <= keep, "{cached} bytes are cached after trim({keep})");
    Ok(())
}

/// Under a memory limit, cached memory is released first; an allocation that exceeds the limit
/// fails with an error that says so.
fn limited<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let device = case.device;
    let room = case.between(50_000, 400_000);
    device.trim(0);
    let in_use = device.pool_stats().in_use;
    let limit = in_use + room as u64;
    case.say(format_args!("storages and cache may take {room} bytes beyond what is in use"));
    device.set_memory_limit(limit);
    // Each block would fit alone, so the earlier blocks must be released.
    for part in [2, 3, 4] {
        drop(block(device, room / part)?);
        let stats = device.pool_stats();
        ensure!(
            stats.in_use + stats.cached <= limit,
            "{} bytes in use and {} cached, of at most {limit}",
            stats.in_use,
            stats.cached
        );
    }
    let held = block(device, room / 2)?;
    let beyond = fails(block(device, room), ErrorKind::OutOfMemory, &[&room.to_string(), &limit.to_string(), "limit"])?;
    ensure!(beyond.device() == Some(&device.location()), "the out-of-memory error names no device: {beyond}");
    drop(held);
    device.set_memory_limit(u64::MAX);
    drop(block(device, 2 * room)?);
    Ok(())
}

/// An allocation that exceeds the memory fails: the error reports the requested size and the state
/// of the memory, and the device keeps working.
fn exhausted<D: BackendDevice>(case: &mut Case<'_, D>, pooled: bool) -> Checked {
    let device = case.device;
    let impossible = Shape::from([1 << 60, case.between(1, 4)]);
    // SAFETY: the storage is never read.
    let all = unsafe { device.alloc_uninit(&impossible, DType::F64) };
    fails(all, ErrorKind::OutOfMemory, &[])?;
    let total = usize::try_from(device.info()?.memory_total).unwrap_or(0);
    if !pooled || total == 0 {
        return Ok(());
    }
    let asked = total + case.between(1, 1 << 20);
    let held = block(device, 10_000)?;
    drop(block(device, 30_000)?);
    case.say(format_args!("{asked} bytes are asked for, of {total}"));
    let error = fails(block(device, asked), ErrorKind::OutOfMemory, &[&asked.to_string(), "in use", "cached", "free"])?;
    // The cached memory was released before the allocation failed.
    let stats = device.pool_stats();
    ensure!(stats.cached == 0, "{} bytes stayed cached while an allocation failed", stats.cached);
    let text = error.to_string();
    for number in [stats.in_use, total as u64] {
        ensure!(text.contains(&number.to_string()), "the out-of-memory error does not contain {number}: {text}");
    }
    drop(held);
    Ok(())
}

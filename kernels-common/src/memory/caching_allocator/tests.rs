//! Tests the pool with a mock allocator.

use super::*;

/// A mock allocator: hands out addresses and remembers the live blocks with their sizes.
#[derive(Debug, Default)]
struct Books(Mutex<BTreeMap<u64, usize>>);

impl Memory for Books {
    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        if bytes > 1 << 30 {
            return Err(Error::new(ErrorKind::OutOfMemory, "the books are full"));
        }
        let mut live = self.0.lock();
        let ptr = live.last_key_value().map_or(4096, |(ptr, size)| (ptr + *size as u64).next_multiple_of(256));
        live.insert(ptr, bytes);
        Ok(DevicePtr(ptr))
    }

    unsafe fn free(&self, ptr: DevicePtr) {
        self.0.lock().remove(&ptr.0).expect("a block is freed once");
    }

    fn free_and_total(&self) -> Result<(u64, u64)> {
        Ok((0, 1 << 30))
    }
}

#[test]
fn classes_lose_at_most_an_eighth() {
    for bytes in [1, 511, 512, 513, 4095, 4096, 5000, 1 << 20, (1 << 20) + 1, 123_456_789] {
        let class = class_of(bytes).unwrap();
        assert!(class >= bytes && class.is_multiple_of(512), "{bytes} gives {class}");
        assert!(class - bytes < (bytes / 8).max(512), "{bytes} gives {class}");
        assert_eq!(class_of(class), Some(class));
    }
    assert_eq!(class_of(usize::MAX), None);
}

#[test]
fn the_pool_keeps_what_is_given_back() {
    let (pool, books) = (Pool::<()>::new(false), Books::default());
    for _ in 0..3 {
        let (ptr, class, uses) = pool.alloc(&books, 1000, |_| true).unwrap();
        // SAFETY: the block is from `alloc` and is freed once.
        unsafe { pool.free(&books, ptr, class, uses) };
    }
    assert_eq!((pool.stats().misses, pool.stats().hits, pool.stats().cached), (1, 2, 1024));
    pool.trim(&books, 0);
    assert!(books.0.lock().is_empty());
}

#[test]
fn in_exact_mode_each_block_is_its_own_and_goes_back_at_once() {
    let (pool, books) = (Pool::<()>::new(true), Books::default());
    for bytes in [1, 1000, 12_345] {
        let (ptr, class, uses) = pool.alloc(&books, bytes, |_| true).unwrap();
        assert_eq!(books.0.lock().get(&ptr.0), Some(&bytes));
        assert_eq!(pool.stats().in_use, bytes as u64);
        // SAFETY: the block is from `alloc` and is freed once.
        unsafe { pool.free(&books, ptr, class, uses) };
        assert!(books.0.lock().is_empty());
    }
    assert_eq!((pool.stats().in_use, pool.stats().cached, pool.stats().hits), (0, 0, 0));
    assert_eq!(pool.alloc(&books, 0, |_| true).unwrap(), (DevicePtr(0), 0, ()), "an empty buffer has no block");
    assert_eq!(pool.alloc(&books, usize::MAX, |_| true).unwrap_err().kind(), ErrorKind::OutOfMemory);
    assert_eq!(pool.alloc(&books, 1 << 31, |_| true).unwrap_err().kind(), ErrorKind::OutOfMemory);
}

#[test]
fn a_limit_can_be_reached() {
    let (pool, books) = (Pool::<()>::new(false), Books::default());
    pool.set_limit(&books, 4096);
    let (ptr, class, ()) = pool.alloc(&books, 4096, |_| true).unwrap();
    assert_eq!(pool.stats().in_use, 4096);
    assert_eq!(pool.alloc(&books, 1, |_| true).unwrap_err().kind(), ErrorKind::OutOfMemory);
    // SAFETY: the block is from `alloc` and is freed once.
    unsafe { pool.free(&books, ptr, class, ()) };
}

#[test]
fn a_limit_counts_what_is_in_use_and_cached() {
    let (pool, books) = (Pool::<()>::new(false), Books::default());
    let alloc = |bytes| pool.alloc(&books, bytes, |_| true).map(|(ptr, class, ())| (ptr, class));
    let (kept, given) = (alloc(4096).unwrap(), alloc(8192).unwrap());
    // SAFETY: the block is from `alloc` and is freed once.
    unsafe { pool.free(&books, given.0, given.1, ()) };
    pool.set_limit(&books, 4096 + 8192);
    assert_eq!((pool.stats().in_use, pool.stats().cached), (4096, 8192));
    // The cache is released to make room for another size.
    let second = alloc(2048).unwrap();
    assert_eq!((pool.stats().in_use, pool.stats().cached), (4096 + 2048, 0));
    let peak = pool.stats().peak;
    let error = alloc(8192).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    for part in ["allocate 8192 bytes", "6144 are in use", "0 cached", "0 of 1073741824", "limit", "12288 bytes"] {
        assert!(error.message().contains(part), "{part}: {error}");
    }
    assert_eq!((pool.stats().in_use, pool.stats().peak), (6144, peak), "a refused request leaves no trace");
    // SAFETY: the block is from `alloc` and is freed once.
    unsafe { pool.free(&books, kept.0, kept.1, ()) };
    pool.set_limit(&books, 2048);
    assert_eq!((pool.stats().in_use, pool.stats().cached), (2048, 0), "what is cached gives way to a lower limit");
    // SAFETY: the block is from `alloc` and is freed once.
    unsafe { pool.free(&books, second.0, second.1, ()) };
    assert_eq!(pool.stats().cached, 2048);
    pool.set_limit(&books, u64::MAX);
    assert!(alloc(1 << 20).is_ok());
}

#[test]
fn a_block_that_suits_is_preferred() {
    let (pool, books) = (Pool::<u8>::new(false), Books::default());
    let blocks: Vec<_> = (0..3).map(|_| pool.alloc(&books, 1000, |_| true).unwrap()).collect();
    for (uses, (ptr, class, _)) in (0..).zip(&blocks) {
        // SAFETY: the block is from `alloc` and is freed once.
        unsafe { pool.free(&books, *ptr, *class, uses) };
    }
    assert_eq!(pool.alloc(&books, 1000, |&uses| uses == 0).unwrap(), (blocks[0].0, blocks[0].1, 0));
    assert_eq!(pool.alloc(&books, 1000, |&uses| uses == 1).unwrap(), (blocks[1].0, blocks[1].1, 1));
    assert_eq!(
        pool.alloc(&books, 1000, |_| false).unwrap(),
        (blocks[2].0, blocks[2].1, 2),
        "any rather than a new one"
    );
}

#[test]
fn the_variable_knows_one_word() {
    assert!(Pool::<()>::of_setting(Some("exact".as_ref())).unwrap().exact);
    assert!(!Pool::<()>::of_setting(Some("".as_ref())).unwrap().exact);
    assert!(!Pool::<()>::of_setting(None).unwrap().exact);
    let error = Pool::<()>::of_setting(Some("exakt".as_ref())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("exakt"), "{error}");
}

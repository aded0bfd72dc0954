//! Kernels whose accesses are ordered although they do not look so: compare-and-swap loops that
//! begin with a plain load, and flags. Each has the right result and no finding, and the same with
//! a race in it has one.

use crate::common::{Card, compile, main_with, words_and_findings};
use half::f16;
use isobit_simgpu_core::finding::{Finding, FindingKind};
use isobit_simgpu_nvidia::arch::Arch;
use std::path::Path;

/// Blocks of the compiled kernels, and the threads of a block.
const BLOCKS: u32 = 11;
const THREADS: u32 = 256;
const ALL: usize = (BLOCKS * THREADS) as usize;
/// The cells that the threads add to.
const CELLS: usize = 4;

fn on_every_card(test: impl Fn(&Card, Arch) + Sync) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ordered.cu");
    std::thread::scope(|scope| {
        for arch in Arch::ALL {
            let (source, test) = (&source, &test);
            scope.spawn(move || test(&Card::new(arch, &compile(source, arch)), arch));
        }
    });
}

fn races(found: &[Finding], context: &str) {
    assert!(!found.is_empty(), "{context}: nothing was found");
    assert!(found.iter().all(|finding| finding.kind == FindingKind::Race), "{context}: {found:?}");
}

#[test]
fn loops_of_compare_and_swaps() {
    on_every_card(|card, arch| {
        // The threads of each cell.
        let count = ALL as f64 / CELLS as f64;
        let run = |kernel: &str, cells: u64| {
            let found = card.findings(kernel, BLOCKS, THREADS, &[cells, CELLS as u64]);
            assert_eq!(found, [], "{kernel} on {}", arch.name());
        };
        let cells = card.upload(&[0f32; CELLS]);
        run("sub_f32", cells);
        assert_eq!(card.download::<f32>(cells, CELLS), [-count as f32; CELLS]);
        for (kernel, sign) in
            [("sub_f64", -1.0), ("guide_f64", 1.0), ("guide_unoptimised", 1.0), ("guide_recursive", 1.0)]
        {
            let cells = card.upload(&[0f64; CELLS]);
            run(kernel, cells);
            assert_eq!(card.download::<f64>(cells, CELLS), [sign * count; CELLS], "{kernel}");
        }

        // Elements of a word that is swapped as a whole.
        let cells = card.upload(&[0u16; CELLS]);
        run("add_f16", cells);
        assert_eq!(card.download::<u16>(cells, CELLS), [f16::from_f64(count).to_bits(); CELLS]);
        let cells = card.upload(&[0u16; CELLS]);
        run("add_u16", cells);
        assert_eq!(card.download::<u16>(cells, CELLS), [count as u16; CELLS]);
        let cells = card.upload(&[0u8; CELLS]);
        run("add_u8", cells);
        assert_eq!(card.download::<u8>(cells, CELLS), [count as u64 as u8; CELLS]);

        let value = |i: usize| (i * 37 % 1024) as f32;
        let largest = |cell: usize| (0..ALL).filter(|i| i % CELLS == cell).map(value).fold(0.0, f32::max);
        for kernel in ["max_f32", "largest"] {
            let cells = card.upload(&[0f32; CELLS]);
            run(kernel, cells);
            assert_eq!(card.download::<f32>(cells, CELLS), [0, 1, 2, 3].map(largest), "{kernel}");
        }

        let out = card.uninitialised(8 * CELLS * BLOCKS as usize);
        run("shared_f64", out);
        let of_block = -f64::from(THREADS) / CELLS as f64;
        assert!(card.download::<f64>(out, CELLS * BLOCKS as usize).iter().all(|x| *x == of_block));
    });
}

#[test]
fn reads_of_what_others_still_add_to() {
    on_every_card(|card, arch| {
        let out = card.uninitialised(8 * ALL);
        for (kernel, args) in [
            ("add_and_read", [card.upload(&[0f64]), out]),
            ("count_and_read", [card.upload(&[0u32]), out]),
            ("reset_and_add", [card.upload(&[0f64; CELLS]), CELLS as u64]),
        ] {
            races(&card.findings(kernel, BLOCKS, THREADS, &args), &format!("{kernel} on {}", arch.name()));
        }
    });
}

/// Instructions that set a flag and wait for it, for one scope: the fence before, the store, the
/// load, and the fence after.
fn orders(scope: &str) -> Vec<[String; 4]> {
    let level = if scope == "gpu" { "gl" } else { scope };
    let fenced = |fence: String, store: &str, load: &str| [fence.clone(), store.into(), load.into(), fence];
    vec![
        ["".into(), format!("st.release.{scope}"), format!("ld.acquire.{scope}"), "".into()],
        fenced(format!("fence.acq_rel.{scope};"), &format!("st.relaxed.{scope}"), &format!("ld.relaxed.{scope}")),
        fenced(format!("fence.sc.{scope};"), &format!("st.relaxed.{scope}"), &format!("ld.relaxed.{scope}")),
        fenced(format!("membar.{level};"), "st.volatile", "ld.volatile"),
    ]
}

/// Block 0 writes its words and sets a flag; the other blocks wait for it and copy the words.
fn between_blocks([before, store, load, after]: &[String; 4], waits: bool) -> String {
    let again = if waits { "@%p3 bra WAIT;" } else { "" };
    let body = format!(
        "
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra WAIT;
    add.u32 %r2, %i, 7;
    st.global.u32 [%out], %r2;
    bar.sync 0;
    setp.ne.u32 %p2, %t, 0;
    @%p2 ret;
    {before}
    {store}.global.u32 [flag], 1;
    ret;
WAIT:
    {load}.global.u32 %r3, [flag];
    setp.eq.u32 %p3, %r3, 0;
    {again}
    {after}
    mul.wide.u32 %rd1, %t, 4;
    add.u64 %rd1, %base, %rd1;
    ld.global.u32 %r4, [%rd1];
    st.global.u32 [%out], %r4;
    ret;"
    );
    main_with(".global .u32 flag;", &body)
}

#[test]
fn flags_between_blocks() {
    let expected: Vec<u32> = (0..5 * 64).map(|i| i % 64 + 7).collect();
    for order in ["gpu", "sys"].iter().flat_map(|scope| orders(scope)) {
        let (words, found) = words_and_findings(&between_blocks(&order, true), 5, 64).unwrap();
        assert_eq!(found, [], "{order:?}");
        assert_eq!(words, expected, "{order:?}");
    }
    // A plain flag is a race, and so are the data if nobody looks at the flag.
    for plain in
        [["", "st", "ld.relaxed.gpu", ""], ["", "st.release.gpu", "ld", ""], ["", "st", "mov.u32 %r3, 1; //", ""]]
    {
        let order = plain.map(str::to_owned);
        races(&words_and_findings(&between_blocks(&order, false), 5, 64).unwrap().1, &format!("{plain:?}"));
    }
}

/// The last warp of a block writes a word and sets a flag; the others wait for it.
fn in_a_block([before, store, load, after]: &[String; 4], space: &str) -> String {
    let body = format!(
        "
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra START;
    st.{space}.u32 [flag], 0;
    st.{space}.u32 [data], 0;
START:
    bar.sync 0;
    setp.lt.u32 %p2, %t, 96;
    @%p2 bra WAIT;
    st.global.u32 [%out], 5;
    setp.ne.u32 %p3, %t, 96;
    @%p3 ret;
    st.{space}.u32 [data], 5;
    {before}
    {store}.{space}.u32 [flag], 1;
    ret;
WAIT:
    {load}.{space}.u32 %r3, [flag];
    setp.eq.u32 %p4, %r3, 0;
    @%p4 bra WAIT;
    {after}
    ld.{space}.u32 %r4, [data];
    st.global.u32 [%out], %r4;
    ret;"
    );
    main_with(&format!(".{space} .u32 flag; .{space} .u32 data;"), &body)
}

#[test]
fn flags_in_a_block() {
    for order in ["cta", "gpu", "sys"].iter().flat_map(|scope| orders(scope)) {
        for space in ["shared", "global"] {
            let (words, found) = words_and_findings(&in_a_block(&order, space), 1, 128).unwrap();
            assert_eq!(found, [], "{order:?}");
            assert_eq!(words, [5; 128], "{order:?}");
        }
    }
    for space in ["shared", "global"] {
        let never = ["", "st.release.cta", "mov.u32 %r3, 1; //", ""].map(str::to_owned);
        races(&words_and_findings(&in_a_block(&never, space), 1, 128).unwrap().1, space);
    }
}

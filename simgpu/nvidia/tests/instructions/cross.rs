//! Exchanges between lanes, compared with a literal transcription of PTX's pseudocode.

use crate::rig::Rig;
use isobit_simgpu_nvidia::exec::{Flow, LANES};

#[test]
fn shuffles_are_as_the_pseudocode_says() {
    Rig::each(|mut rig| {
        for mode in ["up", "down", "bfly", "idx"] {
            for sync in [true, false] {
                for _ in 0..50 {
                    shuffle(&mut rig, mode, sync);
                }
            }
        }
    });
}

fn shuffle(rig: &mut Rig, mode: &str, sync: bool) {
    rig.fill();
    let clamp = rig.random.pick(&[0x1f, 0, 0x1c1f, 0x181f, 0x1e00, 0x1000]);
    let some = rig.random.next() as u128;
    let bounds = if rig.random.next() & 1 == 0 { clamp } else { some & 0x1f1f };
    let constant = rig.random.next() & 1 == 0;
    rig.set("%r3", |_| bounds);
    if constant {
        rig.set("%r2", |_| some & 0x3f);
    }
    let active = rig.random_active();
    rig.warp.live = active;
    let members = if rig.random.next() & 1 == 0 { u32::MAX } else { active };
    let (a, b) = (rig.get("%r1"), rig.get("%r2"));
    let (old_d, old_p) = (rig.get("%r0"), *rig.predicate("%p0"));
    let text = match sync {
        true => format!("shfl.sync.{mode}.b32 %r0|%p0, %r1, %r2, %r3, {members}"),
        false => format!("shfl.{mode}.b32 %r0|%p0, %r1, %r2, %r3"),
    };
    rig.run(&text);
    let (d, p) = (rig.get("%r0"), *rig.predicate("%p0"));
    for lane in 0..32i32 {
        let at = lane as usize;
        if active >> lane & 1 == 0 {
            assert_eq!((d[at], p >> lane & 1), (old_d[at], old_p >> lane & 1));
            continue;
        }
        let bval = b[at] as i32 & 0x1f;
        let cval = bounds as i32 & 0x1f;
        let segmask = (bounds >> 8) as i32 & 0x1f;
        let max_lane = (lane & segmask) | (cval & !segmask);
        let min_lane = lane & segmask;
        let mut j;
        let pval;
        match mode {
            "up" => {
                j = lane - bval;
                pval = j >= max_lane;
            }
            "down" => {
                j = lane + bval;
                pval = j <= max_lane;
            }
            "bfly" => {
                j = lane ^ bval;
                pval = j <= max_lane;
            }
            _ => {
                j = min_lane | (bval & !segmask);
                pval = j <= max_lane;
            }
        }
        if !pval {
            j = lane;
        }
        assert_eq!(p >> lane & 1 == 1, pval, "{text}, lane {lane}");
        if active >> j & 1 == 1 {
            assert_eq!(d[at], a[j as usize], "{text}, lane {lane} from {j}");
        }
    }
}

#[test]
fn votes_count_the_members_that_are_there() {
    Rig::each(|mut rig| {
        for round in 0..60 {
            rig.fill();
            let active = rig.random_active();
            rig.warp.live = active;
            let members = active | rig.random.next() as u32;
            *rig.predicate("%p1") = [u32::MAX, 0, rig.random.next() as u32][round % 3];
            let votes = *rig.predicate("%p1");
            let yes: Vec<bool> =
                (0..32).filter(|lane| active >> lane & 1 == 1).map(|lane| votes >> lane & 1 == 1).collect();
            for (sync, rest) in [(".sync", format!(", {members}")), ("", String::new())] {
                for (mode, want) in [
                    ("all", yes.iter().all(|yes| *yes)),
                    ("any", yes.contains(&true)),
                    ("uni", yes.iter().all(|one| *one == yes[0])),
                ] {
                    *rig.predicate("%p0") = !active & 0x5555_5555;
                    rig.run(&format!("vote{sync}.{mode}.pred %p0, %p1{rest}"));
                    assert_eq!(*rig.predicate("%p0"), !active & 0x5555_5555 | if want { active } else { 0 }, "{mode}");
                }
                rig.run(&format!("vote{sync}.ballot.b32 %r0, !%p1{rest}"));
                for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
                    assert_eq!(rig.get("%r0")[lane], u128::from(!votes & active));
                }
            }
        }
    });
}

#[test]
fn matches_find_equal_values() {
    Rig::each(|mut rig| {
        for round in 0..60 {
            rig.fill();
            let active = rig.random_active();
            rig.warp.live = active;
            for (ty, register) in [("b32", "%r1"), ("b64", "%d1")] {
                let some: Vec<u64> = (0..LANES).map(|_| (rig.random.next() % 3) << 31).collect();
                rig.set(register, |lane| if round % 4 == 0 { 9 } else { some[lane].into() });
                let values = rig.get(register);
                let alike = |lane: usize| -> u128 {
                    (0..LANES)
                        .filter(|other| active >> other & 1 == 1 && values[*other] == values[lane])
                        .map(|other| 1 << other)
                        .sum()
                };
                rig.run(&format!(
                    "match.any.sync.{ty} %r0, {register}, -1; match.all.sync.{ty} %r2|%p0, {register}, -1"
                ));
                for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
                    assert_eq!(rig.get("%r0")[lane], alike(lane));
                    let all = alike(lane) == u128::from(active);
                    assert_eq!(rig.get("%r2")[lane], if all { active.into() } else { 0 });
                    assert_eq!(*rig.predicate("%p0") >> lane & 1 == 1, all);
                }
            }
        }
    });
}

#[test]
fn reductions_are_over_the_members() {
    Rig::each(|mut rig| {
        for _ in 0..30 {
            rig.fill();
            let active = rig.random_active();
            rig.warp.live = active;
            let values: Vec<u32> =
                (0..LANES).filter(|lane| active >> lane & 1 == 1).map(|lane| rig.get("%r1")[lane] as u32).collect();
            let signed = || values.iter().map(|x| *x as i32);
            let sum = values.iter().map(|x| u64::from(*x)).sum::<u64>() as u32;
            for (operation, want) in [
                ("add.u32", sum),
                ("add.s32", sum),
                ("min.u32", *values.iter().min().unwrap()),
                ("min.s32", signed().min().unwrap() as u32),
                ("max.u32", *values.iter().max().unwrap()),
                ("max.s32", signed().max().unwrap() as u32),
                ("and.b32", values.iter().fold(u32::MAX, |all, x| all & x)),
                ("or.b32", values.iter().fold(0, |all, x| all | x)),
                ("xor.b32", values.iter().fold(0, |all, x| all ^ x)),
            ] {
                rig.run(&format!("redux.sync.{operation} %r0, %r1, {active}"));
                for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
                    assert_eq!(rig.get("%r0")[lane], want.into(), "{operation}");
                }
            }
        }
        let refused = rig.refused("redux.sync.add.b32 %r0, %r1, -1");
        assert!(refused.contains("does not support"), "{refused}");
    });
}

#[test]
fn lanes_exchange_within_their_own_mask() {
    Rig::each(|mut rig| {
        rig.fill();
        // Two groups of lanes that arrive together, each with its own mask.
        rig.set("%r3", |lane| if lane < 16 { 0xffff } else { 0xffff_0000 });
        let values = rig.get("%r1");
        rig.run(
            "redux.sync.max.u32 %r0, %r1, %r3; elect.sync %r2|%p0, %r3; shfl.sync.idx.b32 %r4, %r1, 3, 0x1f, %r3"
                .replace("0x1f", "4127")
                .as_str(),
        );
        for lane in 0..LANES {
            let tile = lane / 16 * 16;
            assert_eq!(rig.get("%r0")[lane], *values[tile..tile + 16].iter().max().unwrap());
            assert_eq!(rig.get("%r2")[lane], tile as u128);
            assert_eq!(rig.get("%r4")[lane], values[tile + 3]);
        }
        assert_eq!(*rig.predicate("%p0"), 0x0001_0001);
    });
}

#[test]
fn members_that_are_elsewhere_are_waited_for() {
    let mut rig = Rig::new(false);
    rig.warp.active = 0xff;
    for text in [
        "shfl.sync.idx.b32 %r0, %r1, 0, 31, 0x1ff",
        "vote.sync.any.pred %p0, %p1, 0x1ff",
        "vote.sync.ballot.b32 %r0, %p1, 0x1ff",
        "match.any.sync.b32 %r0, %r1, 0x1ff",
        "redux.sync.or.b32 %r0, %r1, 0x1ff",
        "elect.sync _|%p0, 0x1ff",
    ] {
        let text = text.replace("0x1ff", "511");
        rig.warp.live = u32::MAX;
        assert_eq!(rig.try_run(&text), Ok(Flow::Converge), "{text}");
        // Lanes that have ended are not waited for.
        rig.warp.live = 0xff;
        assert_eq!(rig.try_run(&text), Ok(Flow::Next), "{text}");
    }
    let not_a_member = rig.refused("vote.sync.any.pred %p0, %p1, 127");
    assert!(not_a_member.contains("lane 7 is not in its own member mask 0x0000007f"), "{not_a_member}");
}

#[test]
fn active_lanes_are_told() {
    let mut rig = Rig::new(false);
    rig.warp.active = 0xa0;
    rig.run("activemask.b32 %r0; pmevent 3");
    assert_eq!((rig.get("%r0")[5], rig.get("%r0")[7], rig.get("%r0")[0]), (0xa0, 0xa0, 0));
}

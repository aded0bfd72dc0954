//! Special registers, compared with the definitions of the PTX ISA.

use crate::rig::Rig;
use isobit_simgpu_nvidia::exec::LANES;

#[test]
fn threads_count_with_x_the_fastest() {
    for threads in [[32, 1, 1], [256, 1, 1], [5, 7, 9], [1, 1, 64], [33, 2, 3], [1, 100, 2]] {
        let mut rig = Rig::new(false);
        rig.threads = threads;
        for warp in 0..threads.iter().product::<u32>().div_ceil(32) {
            rig.warp.number = warp;
            rig.run("mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u16 %s0, %tid.z; mov.u32 %r3, %tid.w");
            let [x, y, z, w] = ["%r0", "%r1", "%s0", "%r3"].map(|name| rig.get(name));
            for lane in 0..LANES {
                let linear = x[lane] + u128::from(threads[0]) * (y[lane] + u128::from(threads[1]) * z[lane]);
                assert_eq!(linear, 32 * u128::from(warp) + lane as u128);
                assert!(x[lane] < threads[0].into() && y[lane] < threads[1].into() && w[lane] == 0);
            }
        }
    }
}

#[test]
fn values_that_the_launch_gives() {
    let mut rig = Rig::new(true);
    rig.threads = [64, 2, 1];
    rig.warp.number = 3;
    for (name, want) in [
        ("%ntid.x", 64),
        ("%ntid.y", 2),
        ("%ntid.z", 1),
        ("%ctaid.x", 5),
        ("%ctaid.y", 6),
        ("%ctaid.z", 7),
        ("%nctaid.x", 50),
        ("%nctaid.y", 60),
        ("%nctaid.z", 70),
        ("%warpid", 3),
        ("%dynamic_smem_size", 1000),
        ("%total_smem_size", 8192),
        ("%envreg0", 0),
        ("%envreg31", 0),
        ("%smid", 0),
        ("%nsmid", 1),
    ] {
        rig.fill();
        rig.run(&format!("mov.u32 %r0, {name}"));
        assert_eq!(rig.get("%r0"), [want; LANES], "{name}");
    }
    rig.run("mov.u64 %d0, %gridid; mov.u32 %r0, %gridid; mov.u32 %r1, %nwarpid");
    assert!(rig.get("%r1")[0] > rig.get("%r0")[0]);
}

#[test]
fn lanes_and_their_masks() {
    let mut rig = Rig::new(true);
    rig.run("mov.u32 %r0, %laneid; mov.u32 %r1, %lanemask_eq; mov.u32 %r2, %lanemask_lt; mov.u32 %r3, %lanemask_le");
    rig.run("mov.b32 %r4, %lanemask_gt; mov.u32 %r5, %lanemask_ge");
    for lane in 0..LANES {
        let mask =
            |holds: fn(usize, usize) -> bool| (0..LANES).filter(|i| holds(*i, lane)).map(|i| 1 << i).sum::<u128>();
        let want = [
            lane as u128,
            mask(|i, lane| i == lane),
            mask(|i, lane| i < lane),
            mask(|i, lane| i <= lane),
            mask(|i, lane| i > lane),
            mask(|i, lane| i >= lane),
        ];
        assert_eq!([0, 1, 2, 3, 4, 5].map(|i| rig.get(&format!("%r{i}"))[lane]), want);
    }
}

#[test]
fn clocks_go_forward() {
    let mut rig = Rig::new(true);
    rig.run("mov.u64 %d0, %clock64; mov.u64 %d1, %clock64; mov.u64 %d2, %globaltimer; mov.u32 %r0, %clock_hi");
    assert!(rig.get("%d0")[0] < rig.get("%d1")[0] && rig.get("%d1")[0] < rig.get("%d2")[0]);
    assert_eq!(rig.get("%r0")[0], rig.get("%d0")[0] >> 32);
}

#[test]
fn what_is_not_simulated_says_so() {
    let mut rig = Rig::new(true);
    for (text, why) in [
        ("mov.u32 %r0, %cluster_ctarank", "%cluster_ctarank is not simulated"),
        ("mov.u32 %r0, %clusterid.x", "%clusterid.x is not simulated"),
        ("mov.pred %p0, %is_explicit_cluster", "%is_explicit_cluster is not simulated"),
        ("mov.u32 %r0, %envreg32", "%envreg32 is not simulated"),
        ("mov.u64 %d0, %laneid", "32 bits"),
        ("mov.u32 %r0, %clock64", "64 bits"),
        ("mov.f32 %r0, %laneid", "32 bits"),
    ] {
        let refused = rig.refused(text);
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

//! Which accesses are behind a barrier that is in a function, and which kinds of accesses count.

use super::calls::with;
use crate::common::{Card, words_and_findings};
use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_nvidia::arch::Arch;

/// Waits at a barrier, and calls itself.
const MEETING: &str = "
.func meeting(.reg .b32 n)
{
    .reg .pred p;
    .reg .b32 less;
    bar.sync 0;
    setp.eq.u32 p, n, 0;
    @p ret;
    sub.u32 less, n, 1;
    call meeting, (less);
    ret;
}";

#[test]
fn what_a_late_thread_does_before_a_call_is_not_behind_a_barrier_of_the_function() {
    // The others overtake thread 3, and wait in the function when it stores.
    let body = "
    setp.ne.u32 %p1, %t, 3;
    @%p1 bra GO_ON;
    nanosleep.u32 100;
    add.u32 %r1, %t, 1;
GO_ON:
    st.global.u32 [%out], 5;
    call meeting, (1);
    ret;";
    let (words, found) = words_and_findings(&with(MEETING, body), 1, 32).unwrap();
    assert_eq!((words, found), (vec![5; 32], vec![]));
    // A call that has a result ends a block with what collects it.
    let function = MEETING.replace(".func meeting", ".func (.reg .b32 r) meeting");
    let function =
        function.replace("call meeting", "call (r), meeting").replace("bar.sync 0;", "bar.sync 0; mov.u32 r, 2;");
    let body = body.replace("call meeting", "call (%r2), meeting");
    let (words, found) = words_and_findings(&with(&function, &body), 1, 32).unwrap();
    assert_eq!((words, found), (vec![5; 32], vec![]));
}

#[test]
fn what_follows_a_call_is_behind_a_barrier_of_the_function() {
    let body = "
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra AROUND;
    call meeting, (0);
AROUND:
    st.global.u32 [%out], 5;
    ret;";
    let (words, found) = words_and_findings(&with(MEETING, body), 1, 32).unwrap();
    assert_eq!(words, [5; 32]);
    let [found] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(found.kind, FindingKind::DivergentBarrier);
    assert!(
        found.message.contains("16 threads of the wave") && found.thread.ends_with("thread [0, 0, 0]"),
        "{found:?}"
    );
    // Threads that end in the function never come to the store.
    let (words, found) = words_and_findings(&with(&MEETING.replace("ret;", "exit;"), body), 1, 32).unwrap();
    assert_eq!((words, found), ((0..32).map(|t| if t % 2 == 0 { 5 } else { 0 }).collect(), vec![]));
}

#[test]
fn every_kind_of_access_shows_that_threads_go_around_a_barrier() {
    for access in [
        "ld.global.u32 %r1, [%out];",
        "st.shared.u32 [%r10], %t;",
        "red.shared.add.u32 [%r10], 1;",
        "cp.async.ca.shared.global [%r10], [%out], 4;",
        "cp.async.wait_all;",
        "cp.async.wait_group 0;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r9], {%r1};",
        "call (%r1), vprintf, (0, 0);",
        // None, but what the test needs to be worth something.
        "cp.async.commit_group;",
        "add.u32 %r1, %t, 1;",
    ] {
        let body = format!(
            "
    .shared .align 16 .b8 tile[128];
    mov.u32 %r9, tile;
    mad.lo.u32 %r10, %t, 4, %r9;
    st.shared.u32 [%r10], %t;
    mov.u32 %r1, 0;
    and.b32 %r11, %t, 1;
    setp.eq.u32 %p1, %r11, 0;
    @%p1 bra AROUND;
    bar.sync 0;
AROUND:
    {access}
    ret;"
        );
        let printf = ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 list);";
        let card = Card::new(Arch::Sm90, with(printf, &body).as_bytes());
        let outcome = card.launch("main", 1, 32, &[card.upload(&[0u32; 32])]);
        // The threads that wait and those that went around wait for each other.
        assert_eq!(outcome.is_err(), access.contains("matrix"), "{access}: {outcome:?}");
        let found = card.findings.take();
        let around: Vec<_> = found.iter().filter(|f| f.kind == FindingKind::DivergentBarrier).collect();
        let none = access.starts_with("add") || access.contains("commit");
        assert_eq!(around.len(), usize::from(!none), "{access}: {found:#?}");
        assert!(around.iter().all(|f| f.thread == "block [0, 0, 0] thread [0, 0, 0]"), "{access}: {found:#?}");
    }
}

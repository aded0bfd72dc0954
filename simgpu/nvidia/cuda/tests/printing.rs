//! What kernels print reaches the standard output of the program at the moments that CUDA
//! documents, in order with what the program itself prints.

mod common;

use common::child::{Said, output_of, say};
use common::{Buffer, Code, Handle, NULL, context, get, kernel, load, ok};
use isobit_simgpu_cuda::context::*;
use isobit_simgpu_cuda::copy::cuMemcpyDtoH_v2;
use isobit_simgpu_cuda::event::*;
use isobit_simgpu_cuda::graph::*;
use isobit_simgpu_cuda::graph_node::*;
use isobit_simgpu_cuda::host::cuLaunchHostFunc;
use isobit_simgpu_cuda::launch::cuLaunchKernel;
use isobit_simgpu_cuda::limits::*;
use isobit_simgpu_cuda::module::*;
use isobit_simgpu_cuda::primary::cuDevicePrimaryCtxReset_v2;
use isobit_simgpu_cuda::stream::*;
use std::ffi::c_void;
use std::ptr::null_mut;

/// `printf("kernel %d says %s\n", n, "hello")` by each thread, and the same with a trap after it.
const SOURCE: &str = r#"
.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 list);
.global .align 1 .b8 format[] = {107, 101, 114, 110, 101, 108, 32, 37, 100, 32, 115, 97, 121, 115, 32, 37, 115, 10, 0};
.global .align 1 .b8 word[] = {104, 101, 108, 108, 111, 0};
.visible .entry says(.param .u32 n, .param .u32 traps)
{
    .local .align 8 .b8 list[16];
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [traps];
    mov.u64 %rd1, word;
    cvta.global.u64 %rd2, %rd1;
    st.local.u32 [list], %r1;
    st.local.u64 [list+8], %rd2;
    mov.u64 %rd3, format;
    cvta.global.u64 %rd3, %rd3;
    mov.u64 %rd4, list;
    cvta.local.u64 %rd4, %rd4;
    {
    .param .b64 p0; .param .b64 p1; .param .b32 q;
    st.param.b64 [p0], %rd3;
    st.param.b64 [p1], %rd4;
    call.uni (q), vprintf, (p0, p1);
    ld.param.b32 %r3, [q];
    }
    setp.eq.u32 %p, %r2, 0;
    @%p bra END;
    trap;
END:
    ret;
}
"#;

fn launch(kernel: Handle, stream: Handle, mut n: u32, mut traps: u32, threads: u32) {
    let mut params = [(&raw mut n).cast::<c_void>(), (&raw mut traps).cast()];
    // SAFETY: the arguments are the kernel's.
    ok(unsafe { cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, stream, params.as_mut_ptr(), null_mut()) });
}

fn says(n: u32) -> String {
    format!("kernel {n} says hello\n")
}

unsafe extern "C" fn called(_: *mut c_void) {
    say("called");
}

#[test]
fn at_the_calls_that_wait() {
    let Said { out, .. } = output_of("at_the_calls_that_wait", || {
        let primary = context(0);
        let module = load(SOURCE);
        let function = kernel(module, c"says");
        let buffer = Buffer::new(4);
        // SAFETY: pointers of the helper and to locals.
        unsafe {
            let (stream, event) = (get(|to| cuStreamCreate(to, 1)), get(|to| cuEventCreate(to, 2)));
            let mut step = 0;
            let mut before = |what: &str, call: &mut dyn FnMut()| {
                step += 1;
                launch(function, stream, step, 0, 2);
                say(&format!("before {what}"));
                call();
                say("after");
            };
            before("the context", &mut || ok(cuCtxSynchronize()));
            before("the stream", &mut || ok(cuStreamSynchronize(stream)));
            before("an event", &mut || {
                ok(cuEventRecord(event, stream));
                ok(cuEventSynchronize(event));
            });
            before("a launch", &mut || launch(function, stream, 40, 0, 1));
            let mut word = 0u32;
            before("a copy", &mut || ok(cuMemcpyDtoH_v2((&raw mut word).cast(), buffer.0, 4)));
            before("a module", &mut || assert_ne!(load(SOURCE), NULL));
            before("the end of a module", &mut || ok(cuModuleUnload(load(SOURCE))));
            before("a callback", &mut || {
                ok(cuLaunchHostFunc(stream, Some(called), NULL));
                ok(cuStreamSynchronize(stream));
            });
            drop(buffer);
            before("the end of the context", &mut || ok(cuDevicePrimaryCtxReset_v2(0)));
            assert_eq!(context(0), primary);
        }
    })
    .passes();
    let mut want = String::new();
    let names = ["the context", "the stream", "an event", "a launch", "a copy", "a module", "the end of a module"];
    for (step, name) in (1..).zip(names.into_iter().chain(["a callback", "the end of the context"])) {
        // The launch at step 4 prints later, at the launch of the next step.
        want += &if step == 5 { says(40) } else { String::new() };
        want += &format!("before {name}\n{}", says(step).repeat(2));
        want += if name == "a callback" { "called\nafter\n" } else { "after\n" };
    }
    assert_eq!(out, want);
}

#[test]
fn what_was_printed_is_seen_when_the_program_dies() {
    let Said { out, error, .. } = output_of("what_was_printed_is_seen_when_the_program_dies", || {
        context(0);
        let function = kernel(load(SOURCE), c"says");
        launch(function, NULL, 1, 0, 1);
        ok(cuCtxSynchronize());
        launch(function, NULL, 2, 1, 1);
        // A kernel that fails has printed before.
        assert_eq!(cuCtxSynchronize(), Code::LAUNCH_FAILURE);
        std::process::abort();
    })
    .aborts();
    assert_eq!(out, says(1) + &says(2), "{error}");
}

#[test]
fn what_no_call_prints_is_lost_and_said() {
    let Said { out, error, .. } = output_of("what_no_call_prints_is_lost_and_said", || {
        context(0);
        launch(kernel(load(SOURCE), c"says"), NULL, 7, 0, 3);
        say("the end");
    })
    .passes();
    assert_eq!(out, "the end\n");
    assert!(
        error.contains(&format!("{} bytes that kernels printed with printf are lost", 3 * says(7).len())),
        "{error}"
    );
}

#[test]
fn a_graph_that_prints_fixes_the_limit_too() {
    let said = output_of("a_graph_that_prints_fixes_the_limit_too", || {
        context(0);
        let function = kernel(load(SOURCE), c"says");
        // SAFETY: the pointers are the helper's.
        unsafe {
            let (stream, argument) = (get(|to| cuStreamCreate(to, 1)), [7u32, 0]);
            let graph = get(|to| cuGraphCreate(to, 0));
            let mut params = argument.each_ref().map(|n| std::ptr::from_ref(n).cast_mut().cast());
            let node = KernelNodeParams {
                func: function,
                grid: [1; 3],
                block: [32, 1, 1],
                shared: 0,
                params: params.as_mut_ptr(),
                extra: null_mut(),
            };
            get(|to| cuGraphAddKernelNode(to, graph, null_mut(), 0, &node));
            let exec = get(|to| cuGraphInstantiateWithFlags(to, graph, 0));
            ok(cuCtxSetLimit(1, 1 << 20));
            ok(cuGraphLaunch(exec, stream));
            ok(cuStreamSynchronize(stream));
            assert_eq!(cuCtxSetLimit(1, 1 << 21), Code::INVALID_VALUE);
        }
    });
    assert_eq!(said.out, says(7).repeat(32));
}

#[test]
fn the_limit_is_what_was_set() {
    let Said { out, .. } = output_of("the_limit_is_what_was_set", || {
        context(0);
        let function = kernel(load(SOURCE), c"says");
        // Room for four lines.
        let room = 4 * says(7).len();
        ok(cuCtxSetLimit(1, room));
        // SAFETY: the pointer is the helper's.
        assert_eq!(get(|to| unsafe { cuCtxGetLimit(to, 1) }), room);
        launch(function, NULL, 7, 0, 32);
        // Not after a kernel that prints.
        assert_eq!(cuCtxSetLimit(1, 1 << 20), Code::INVALID_VALUE);
        ok(cuCtxSynchronize());
    })
    .passes();
    assert_eq!(out, says(7).repeat(4));
}

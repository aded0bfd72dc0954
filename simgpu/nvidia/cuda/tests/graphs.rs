//! Graphs: captured and built node by node, queried, changed and launched.

mod common;

use common::{Buffer, Code, Handle, NULL, alone, download, get, kernel, kinds, load, numbers, ok, pointer};
use isobit_simgpu_cuda::capture::*;
use isobit_simgpu_cuda::copy::*;
use isobit_simgpu_cuda::copy_shapes::*;
use isobit_simgpu_cuda::graph::*;
use isobit_simgpu_cuda::graph_edges::*;
use isobit_simgpu_cuda::graph_node::*;
use isobit_simgpu_cuda::graph_params::*;
use isobit_simgpu_cuda::host::cuLaunchHostFunc;
use isobit_simgpu_cuda::module::cuModuleUnload;
use isobit_simgpu_cuda::set::*;
use isobit_simgpu_cuda::stream::*;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the tests pass a counter that outlives the call.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
}

/// Returns the list of handles that a function writes.
fn list(of: impl Fn(*mut Handle, *mut usize) -> Code) -> Vec<Handle> {
    let mut count = 0;
    ok(of(null_mut(), &mut count));
    let mut handles = vec![null_mut(); count + 1];
    count += 1;
    ok(of(handles.as_mut_ptr(), &mut count));
    assert_eq!(handles.pop(), Some(NULL), "null after the last element");
    assert_eq!(count, handles.len());
    handles
}

#[test]
fn a_captured_stream_becomes_a_graph() {
    let (_alone, _primary) = alone();
    let (a, counter) = (Buffer::new(4), AtomicU32::new(0));
    let (source, mut result) = (7u32, 0u32);
    // SAFETY: the resources of the work outlive it: the test waits for the launches.
    unsafe {
        let stream = get(|to| cuStreamCreate(to, 1));
        ok(cuStreamBeginCapture_v2(stream, 0));
        ok(cuMemcpyHtoDAsync_v2(a.0, (&raw const source).cast(), 4, stream));
        ok(cuMemcpyDtoHAsync_v2((&raw mut result).cast(), a.0, 4, stream));
        ok(cuMemsetD8Async(a.0, 0, 4, stream));
        ok(cuLaunchHostFunc(stream, Some(count), (&raw const counter).cast_mut().cast()));
        let graph = get(|to| cuStreamEndCapture(stream, to));
        assert_eq!((result, get(|to| cuStreamIsCapturing(stream, to))), (0, 0));

        let nodes = list(|to, n| cuGraphGetNodes(graph, to, n));
        let kinds: Vec<_> = nodes.iter().map(|&node| get(|to| cuGraphNodeGetType(node, to))).collect();
        assert_eq!(kinds, [1, 1, 2, 3]);
        assert_eq!(list(|to, n| cuGraphGetRootNodes(graph, to, n)), nodes[..1]);
        assert_eq!(list(|to, n| cuGraphNodeGetDependencies(nodes[2], to, n)), nodes[1..2]);
        assert_eq!(list(|to, n| cuGraphNodeGetDependentNodes(nodes[2], to, n)), nodes[3..]);
        let (mut from, mut to, mut edges, mut room) = ([null_mut(); 3], [null_mut(); 3], [9u64; 3], 3);
        ok(cuGraphGetEdges_v2(graph, from.as_mut_ptr(), to.as_mut_ptr(), edges.as_mut_ptr(), &mut room));
        assert_eq!((&from[..], &to[..], edges, room), (&nodes[..3], &nodes[1..], [0; 3], 3));

        let exec = get(|to| cuGraphInstantiateWithFlags(to, graph, 0));
        ok(cuGraphDestroy(graph));
        assert_eq!(cuGraphNodeGetType(nodes[0], &mut 0), Code::INVALID_VALUE, "the nodes went with their graph");
        ok(cuGraphUpload(exec, stream));
        ok(cuGraphLaunch(exec, stream));
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!((result, counter.load(Ordering::Relaxed)), (7, 2));
        ok(cuGraphExecDestroy(exec));
        assert_eq!(cuGraphLaunch(exec, stream), Code::INVALID_VALUE);
        ok(cuStreamDestroy_v2(stream));
    }
    assert!(kinds().is_empty());
}

#[test]
fn graphs_are_made_by_hand_too() {
    let (_alone, primary) = alone();
    let (a, b, counter) = (Buffer::new(8), Buffer::of(&[0; 8]), AtomicU32::new(0));
    let none = std::ptr::null();
    // SAFETY: the resources of the nodes outlive the launches, because the test waits for them;
    // pointers of the helper and to locals.
    unsafe {
        let graph = get(|to| cuGraphCreate(to, 0));
        let set =
            |value, offset| MemsetNodeParams { to: a.at(offset), pitch: 0, value, element: 4, width: 1, height: 1 };
        let context = primary.0;
        let first = get(|to| cuGraphAddMemsetNode(to, graph, none, 0, &set(0x0101_0101, 0), context));
        let second = get(|to| cuGraphAddMemsetNode(to, graph, none, 0, &set(0x0202_0202, 4), NULL));
        let both = [first, second];
        let join = get(|to| cuGraphAddEmptyNode(to, graph, both.as_ptr(), 2));
        let end = |device, kind| Place {
            x: 0,
            y: 0,
            z: 0,
            level: 0,
            kind,
            host: null_mut(),
            device,
            array: null_mut(),
            reserved: null_mut(),
            pitch: 8,
            height: 0,
        };
        let params = Memcpy3D { from: end(a.0, 2), to: end(b.0, 2), width: 8, height: 1, depth: 1 };
        let copy = get(|to| cuGraphAddMemcpyNode(to, graph, &join, 1, &params, context));
        let host = HostNodeParams { func: Some(count), data: (&raw const counter).cast_mut().cast() };
        let last = get(|to| cuGraphAddHostNode(to, graph, &copy, 1, &host));
        let twice = [first, first];
        assert_eq!(cuGraphAddEmptyNode(&mut null_mut(), graph, twice.as_ptr(), 2), Code::INVALID_VALUE);
        let other = get(|to| cuGraphCreate(to, 0));
        assert_eq!(cuGraphAddEmptyNode(&mut null_mut(), other, &first, 1), Code::INVALID_VALUE, "of another graph");

        let exec = get(|to| cuGraphInstantiateWithFlags(to, graph, 1));
        ok(cuGraphLaunch(exec, NULL));
        assert_eq!(download(b.0, 8), [1, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(counter.load(Ordering::Relaxed), 1);

        // Queries node parameters, and changes them.
        assert_eq!(
            get(|to| cuGraphMemsetNodeGetParams(first, to)),
            MemsetNodeParams { pitch: 4, ..set(0x0101_0101, 0) }
        );
        let read = get(|to| cuGraphMemcpyNodeGetParams(copy, to));
        assert_eq!((read.from.device, read.to.device, read.width), (a.0, b.0, 8));
        assert_eq!(get(|to| cuGraphHostNodeGetParams(last, to)).data, host.data);
        assert_eq!(cuGraphMemsetNodeGetParams(copy, &mut set(0, 0)), Code::INVALID_VALUE);
        ok(cuGraphExecMemsetNodeSetParams(exec, first, &set(0x0303_0303, 0), context));
        assert_eq!(cuGraphExecMemsetNodeSetParams(exec, copy, &set(0, 0), context), Code::INVALID_VALUE);
        ok(cuGraphLaunch(exec, NULL));
        assert_eq!(download(b.0, 8), [3, 3, 3, 3, 2, 2, 2, 2]);
        ok(cuGraphMemsetNodeSetParams(second, &set(0x0404_0404, 4)));
        ok(cuGraphMemcpyNodeSetParams(copy, &Memcpy3D { width: 6, ..params }));
        // A clone has its own nodes, and an executable graph can be updated from a graph of the
        // same shape.
        let clone = get(|to| cuGraphClone(to, graph));
        let found = get(|to| cuGraphNodeFindInClone(to, copy, clone));
        assert_eq!(get(|to| cuGraphMemcpyNodeGetParams(found, to)).width, 6);
        let mut result = UpdateResult { result: 9, node: first, from: first };
        ok(cuGraphExecUpdate_v2(exec, clone, &mut result));
        assert_eq!(result, UpdateResult { result: 0, node: NULL, from: NULL });
        ok(cuGraphLaunch(exec, NULL));
        assert_eq!(download(b.0, 8), [1, 1, 1, 1, 4, 4, 2, 2]);
        assert_eq!(cuGraphExecUpdate_v2(exec, other, &mut result), Code::GRAPH_EXEC_UPDATE_FAILURE);
        assert_eq!(result.result, 2, "the topology");

        // A graph as a node of another graph.
        let child = get(|to| cuGraphAddChildGraphNode(to, other, none, 0, clone));
        assert_eq!(get(|to| cuGraphNodeGetType(child, to)), 4);
        let inner = get(|to| cuGraphChildGraphNodeGetGraph(child, to));
        assert_eq!(list(|to, n| cuGraphGetNodes(inner, to, n)).len(), 5);
        let mut made = InstantiateParams { flags: 2, upload: NULL, error_node: child, result: 9 };
        let parent = get(|to| cuGraphInstantiateWithParams(to, other, &mut made));
        assert_eq!((made.result, made.error_node), (0, NULL));
        ok(cuMemsetD8_v2(b.0, 0, 8));
        ok(cuGraphLaunch(parent, NULL));
        assert_eq!(download(b.0, 8), [1, 1, 1, 1, 4, 4, 0, 0]);
        assert_eq!(counter.load(Ordering::Relaxed), 4);

        assert_eq!(cuGraphInstantiateWithFlags(&mut null_mut(), graph, 0x100), Code::INVALID_VALUE);
        assert_eq!(cuGraphInstantiateWithFlags(&mut null_mut(), graph, 4), Code::NOT_SUPPORTED);
        assert_eq!(cuGraphCreate(&mut null_mut(), 1), Code::INVALID_VALUE);
        for exec in [exec, parent] {
            ok(cuGraphExecDestroy(exec));
        }
        for graph in [graph, other, clone, inner] {
            ok(cuGraphDestroy(graph));
        }
        assert_eq!(cuGraphDestroy(graph), Code::INVALID_VALUE);
    }
    assert!(kinds().is_empty());
}

#[test]
fn kernels_keep_the_arguments_that_they_were_added_with() {
    let (_alone, _primary) = alone();
    let module = load(common::SOURCE);
    let (linear, out) = (kernel(module, c"linear"), Buffer::of(&[0; 400]));
    let (mut data, mut count, mut step, mut bias) = (out.0, 100u32, 1u8, 0u64);
    let mut params = [pointer(&mut data), pointer(&mut count), pointer(&mut step), pointer(&mut bias)];
    let launch = KernelNodeParams {
        func: linear,
        grid: [2, 1, 1],
        block: [50, 1, 1],
        shared: 0,
        params: params.as_mut_ptr(),
        extra: null_mut(),
    };
    // SAFETY: pointers of the helper, and the kernels' arguments.
    unsafe {
        let graph = get(|to| cuGraphCreate(to, 0));
        let v2 = KernelNodeParamsV2 { launch, kernel: NULL, context: NULL };
        let node = get(|to| cuGraphAddKernelNode_v2(to, graph, std::ptr::null(), 0, &v2));
        let add = KernelNodeParams { func: kernel(module, c"add_one"), ..launch };
        let second = get(|to| cuGraphAddKernelNode(to, graph, &node, 1, &add));
        let exec = get(|to| cuGraphInstantiate_v2(to, graph, null_mut(), null_mut(), 0));
        // The nodes copied the arguments when they were created: the change takes effect only when
        // the parameters are set again.
        *params[2].cast::<u8>() = 2;
        *params[3].cast::<u64>() = 9;
        let run = |exec, expected: &dyn Fn(u32) -> u32| {
            ok(cuGraphLaunch(exec, NULL));
            assert_eq!(numbers(out.0, 100), (0..100).map(expected).collect::<Vec<_>>());
        };
        run(exec, &|i| i + 1);
        ok(cuGraphExecKernelNodeSetParams_v2(exec, node, &v2));
        run(exec, &|i| i * 2 + 10);
        let mut read = get(|to| cuGraphKernelNodeGetParams(node, to));
        assert_eq!((read.func, read.grid, read.block), (linear, [2, 1, 1], [50, 1, 1]));
        read.block = [25, 1, 1];
        let large = KernelNodeParams { block: [2048, 1, 1], ..read };
        assert_eq!(cuGraphExecKernelNodeSetParams(exec, second, &large), Code::INVALID_VALUE);
        ok(cuGraphKernelNodeSetParams(node, &read));
        let other = get(|to| cuGraphInstantiateWithFlags(to, graph, 0));
        ok(cuMemsetD8_v2(out.0, 0, 400));
        run(other, &|i| if i < 50 { i + 1 } else { 1 });
        for exec in [exec, other] {
            ok(cuGraphExecDestroy(exec));
        }
        ok(cuGraphDestroy(graph));
        assert_eq!(cuGraphKernelNodeGetParams(node, &mut read), Code::INVALID_VALUE);
    }
    ok(cuModuleUnload(module));
    assert!(kinds().is_empty());
}

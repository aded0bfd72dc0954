//! Graphs: order of the nodes in random graphs, launches, changed nodes.

use super::{Log, MODES, Random, one_device};
use crate::queue::{Graph, GraphError, GraphExec, Mode, Work};

#[test]
fn random_graphs_are_done_in_an_allowed_order_as_often_as_launched() {
    for seed in 0..200 {
        for mode in MODES {
            let mut random = Random(seed);
            let (queues, log) = one_device(mode);
            let streams: Vec<_> = (0..3).map(|i| queues.create_stream(0, i == 0).unwrap()).collect();
            let nodes = 1 + random.below(24);
            let mut graph = Graph::default();
            let mut after: Vec<Vec<usize>> = Vec::new();
            for node in 0..nodes {
                let deps: Vec<usize> = (0..node).filter(|_| random.below(4) == 0).collect();
                assert_eq!(graph.add(log.work(node), &deps), Ok(node));
                after.push(deps);
            }
            let exec = GraphExec::new(&graph);
            let launches = 3;
            for _ in 0..launches {
                queues.launch_graph(&exec, streams[random.below(3)]).unwrap();
            }
            queues.synchronize_device(0).unwrap();
            let log = log.take();
            assert_eq!(log.len(), launches * nodes);
            for launch in log.chunks(nodes) {
                let position = |node| launch.iter().position(|&n| n == node);
                for (node, after) in after.iter().enumerate() {
                    let mine = position(node).expect("launches of one graph do not overlap");
                    assert!(after.iter().all(|&d| position(d).unwrap() < mine), "{mode:?} seed {seed}: {launch:?}");
                }
            }
        }
    }
}

#[test]
fn a_launch_comes_after_its_stream_and_before_what_follows() {
    for mode in MODES {
        let (queues, log) = one_device(mode);
        let stream = queues.create_stream(0, false).unwrap();
        let mut graph = Graph::default();
        graph.add(log.work(1), &[]).unwrap();
        graph.add(log.work(1), &[]).unwrap();
        let exec = GraphExec::new(&graph);
        queues.enqueue(stream, log.work(0)).unwrap();
        queues.launch_graph(&exec, stream).unwrap();
        queues.enqueue(stream, log.work(2)).unwrap();
        queues.synchronize(stream).unwrap();
        assert_eq!(log.take(), [0, 1, 1, 2], "{mode:?}");
    }
}

#[test]
fn changed_nodes_are_changed_from_the_next_launch_on() {
    let (queues, log) = one_device(Mode::Latest);
    let stream = queues.create_stream(0, false).unwrap();
    let mut graph = Graph::default();
    let node = graph.add(log.work(0), &[]).unwrap();
    graph.add(log.work(1), &[node]).unwrap();
    let exec = GraphExec::new(&graph);
    queues.launch_graph(&exec, stream).unwrap();
    exec.set_work(node, log.work(7)).unwrap();
    queues.launch_graph(&exec, stream).unwrap();
    graph.add(log.work(9), &[]).unwrap();
    queues.synchronize(stream).unwrap();
    assert_eq!(log.take(), [0, 1, 7, 1], "a launch that is pending keeps its work, and the graph is a copy");
    assert_eq!(exec.set_work(2, Work::nothing()), Err(GraphError::NoSuchNode(2)));
    assert_eq!(graph.add(Work::nothing(), &[5]), Err(GraphError::NoSuchNode(5)));
    assert_eq!(graph.add(Work::nothing(), &[1, 1]), Err(GraphError::Twice(1)));
}

#[test]
fn an_empty_graph_is_a_point_in_the_stream() {
    let (queues, log) = one_device(Mode::Needed);
    let stream = queues.create_stream(0, false).unwrap();
    queues.enqueue(stream, log.work(0)).unwrap();
    queues.launch_graph(&GraphExec::new(&Graph::default()), stream).unwrap();
    queues.enqueue(stream, log.work(1)).unwrap();
    queues.synchronize(stream).unwrap();
    assert_eq!(Log::take(&log), [0, 1]);
}

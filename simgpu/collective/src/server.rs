//! The hub's side of the socket by which ranks of other processes reach it.

use crate::hub::Hub;
use crate::packet::Packet;
use crate::request::Request;
use crate::status::{Failure, SUCCESS, SYSTEM_ERROR};
use std::io::{self, Read as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;

/// Returns the address of a name. It is no file, so that nothing is left when the process ends.
pub(crate) fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}

/// Serves a hub under a name until the hub is over, and then calls `at_end`.
pub(crate) fn start(name: &str, hub: Arc<Hub>, at_end: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let failed = |error| Failure::new(SYSTEM_ERROR, format!("no socket can be made for the ranks: {error}"));
    let listener = address(name).and_then(|address| UnixListener::bind_addr(&address)).map_err(failed)?;
    let serve = move || {
        for connection in listener.incoming() {
            if hub.is_over() {
                break;
            }
            let Ok(connection) = connection else { continue };
            let hub = hub.clone();
            // A rank that gets no thread sees its connection end.
            let _ = thread::Builder::new().name("rank".into()).spawn(move || answer(&hub, connection));
        }
        at_end();
    };
    thread::Builder::new().name("ranks".into()).spawn(serve).map(drop).map_err(failed)
}

/// Wakes a server whose hub is over.
pub(crate) fn wake(name: &str) {
    // If it cannot be reached, it has ended.
    let _ = address(name).and_then(|address| UnixStream::connect_addr(&address));
}

/// Answers the request of a connection.
fn answer(hub: &Hub, mut connection: UnixStream) {
    let Some(request) = read(&mut connection) else { return };
    if let Request::Attend { process } = request {
        // Nothing is sent: the read ends with the process.
        let _ = connection.read(&mut [0]);
        hub.died(process);
        return;
    }
    hub.asked();
    let packet = match hub.serve(request, true) {
        Ok(mut packet) => {
            packet.numbers.insert(0, SUCCESS as u64);
            packet
        }
        Err(failure) => Packet::new(vec![failure.status as u64], vec![failure.why.into_bytes()]),
    };
    // A rank that has ended needs no answer.
    let _ = packet.write(&mut connection);
    hub.answered();
}

fn read(connection: &mut UnixStream) -> Option<Request> {
    connection.read_exact(&mut [0]).ok()?;
    Request::unpack(Packet::read(connection).ok()?)
}

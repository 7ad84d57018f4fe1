// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the byte stream under a connection comes from.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::sleep;

use super::endpoint::Endpoint;

/// How long one address may take before the next one is tried beside it (RFC 8305, section 5).
const STAGGER: Duration = Duration::from_millis(250);

/// A two-way byte stream.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// A byte stream that is being made.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn ByteStream>>> + Send + 'a>>;

/// Makes the byte stream for a connection. TLS, where the endpoint asks for it, is spoken on top by the link.
///
/// An implementation needs no timeout of its own: the link gives up after ten seconds and drops the future.
pub trait Connect: Send + Sync {
    /// A fresh stream to `endpoint`'s host and port.
    fn connect<'a>(&'a self, endpoint: &'a Endpoint) -> Connecting<'a>;
}

/// TCP through the system's resolver. Addresses of both families race, so a network where IPv6 leads nowhere costs a
/// quarter of a second and not the connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpConnector;

impl Connect for TcpConnector {
    fn connect<'a>(&'a self, endpoint: &'a Endpoint) -> Connecting<'a> {
        Box::pin(async move {
            let addresses = lookup_host((endpoint.host(), endpoint.port())).await?.collect();
            let stream = race(alternate(addresses), TcpStream::connect).await?;
            // 20 ms of microphone audio is a small write; waiting to fill a segment would delay every one of them.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}

/// The resolver's order, with the two families taking turns, the family of its first choice first.
fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (preferred, others): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let (mut preferred, mut others) = (preferred.into_iter(), others.into_iter());
    let mut order = Vec::new();
    loop {
        let pair = [preferred.next(), others.next()];
        if pair == [None, None] {
            return order;
        }
        order.extend(pair.into_iter().flatten());
    }
}

/// The first stream that comes about. Another address is tried whenever one fails or [`STAGGER`] has gone by.
async fn race<S, F>(addresses: Vec<SocketAddr>, connect: impl Fn(SocketAddr) -> F) -> io::Result<S>
where
    F: Future<Output = io::Result<S>>,
{
    let mut waiting = addresses.into_iter();
    let mut running = FuturesUnordered::new();
    let mut last_error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    loop {
        if let Some(address) = waiting.next() {
            running.push(connect(address));
        } else if running.is_empty() {
            return Err(last_error);
        }
        let ended = tokio::select! {
            ended = running.next() => ended,
            () = sleep(STAGGER), if waiting.len() > 0 => None,
        };
        match ended {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => last_error = error,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;
    use std::future::pending;
    use tokio::time::Instant;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns() {
        let given = addresses(&["[::1]:1", "[::2]:1", "[::3]:1", "1.0.0.1:1"]);
        assert_eq!(alternate(given), addresses(&["[::1]:1", "1.0.0.1:1", "[::2]:1", "[::3]:1"]));
        assert_eq!(alternate(vec![]), vec![]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_leads_nowhere_costs_a_quarter_second() {
        let start = Instant::now();
        let won = race(addresses(&["[::1]:1", "1.0.0.1:1"]), |address| async move {
            if address.is_ipv6() { pending().await } else { Ok(address) }
        });
        assert_eq!(won.await.unwrap(), "1.0.0.1:1".parse().unwrap());
        assert_eq!(start.elapsed(), STAGGER);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_brings_the_next_at_once_and_the_last_one_is_told() {
        let start = Instant::now();
        let refused = race::<(), _>(addresses(&["[::1]:1", "1.0.0.1:1"]), |address| async move {
            Err(io::Error::other(address.to_string()))
        });
        assert_eq!(refused.await.unwrap_err().to_string(), "1.0.0.1:1");
        assert_eq!(start.elapsed(), Duration::ZERO);
        let none = race::<(), _>(vec![], |_| pending()).await.unwrap_err();
        assert!(none.to_string().contains("no address"), "{none}");
    }
}

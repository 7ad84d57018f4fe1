// SPDX-License-Identifier: MIT OR Apache-2.0

//! Asks a sound server that speaks PulseAudio's protocol where it has put our streams.
//!
//! Streams opened through ALSA's plugin are found as well as those of the native host: the server knows each by the process
//! that made it. Nothing here runs on the audio worker.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use pulseaudio::protocol::{
    AuthParams, AuthReply, Command, GetSinkInfo, GetSourceInfo, MAX_VERSION, Prop, Props, ProtocolError,
    SetClientNameReply, SinkInfo, SinkInputInfoList, SourceInfo, SourceOutputInfoList, SubscriptionMask,
    TagStructRead, TagStructReader, read_descriptor, write_command_message,
};

use super::route::{Place, Watch};
use super::{DeviceError, describe};
use crate::api::Direction;

/// How long the server may take to answer one question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a new stream may take to show up at the server, before it is taken for one of another server or of none.
const FIND_TIMEOUT: Duration = Duration::from_millis(300);

/// How often it is looked for meanwhile.
const FIND_AGAIN: Duration = Duration::from_millis(20);

/// How long to wait for the server's word of a change before looking whether anybody still wants to know.
const WAIT: Duration = Duration::from_millis(500);

/// Tags of messages, from the protocol.
const ERROR: u32 = 0;
const REPLY: u32 = 2;
const EVENT: u32 = 66;

/// The longest answer that is read: the lists of a desktop with hundreds of streams stay below it.
const ANSWER_BYTES_MAX: u32 = 1 << 20;

/// Looks where the stream that was just opened is, and goes on looking from a thread of its own. `None` when no server is
/// found or none of its streams is ours. Blocks for some 4 s where each answer takes its second.
///
/// # Errors
/// [`DeviceError::Monitor`] when the stream captures what a loudspeaker plays and `monitor_allowed` is not set.
pub(super) fn watch(
    direction: Direction,
    name: &str,
    monitor_allowed: bool,
) -> Result<Option<Watch>, DeviceError> {
    let Ok(mut server) = Server::connect() else {
        return Ok(None);
    };
    let deadline = Instant::now() + FIND_TIMEOUT;
    let place = loop {
        match server.place(direction) {
            Ok(Some(place)) => break place,
            Ok(None) if Instant::now() < deadline => thread::sleep(FIND_AGAIN),
            Ok(None) | Err(_) => return Ok(None),
        }
    };
    let device = || describe(direction, name);
    let (watch, told) = Watch::begin(direction, monitor_allowed, place.clone(), device)?;
    let wanted = Arc::downgrade(&watch.kept);
    let started = thread::Builder::new().name("audio-route".into()).spawn(move || {
        // A server that is gone ends the stream too; the next one is looked for with the next stream.
        if let Err(error) = follow(&mut server, direction, place, &told, &wanted) {
            tracing::debug!(%error, "the sound server no longer says where the stream is");
        }
    });
    Ok(started.is_ok().then_some(watch))
}

/// Sends each place that differs from the one before, until nobody wants to know.
fn follow(
    server: &mut Server,
    direction: Direction,
    mut last: Place,
    places: &SyncSender<Place>,
    wanted: &Weak<()>,
) -> Result<(), ProtocolError> {
    let mask = SubscriptionMask::SINK_INPUT
        | SubscriptionMask::SOURCE_OUTPUT
        | SubscriptionMask::SINK
        | SubscriptionMask::SOURCE;
    server.ask(&Command::Subscribe(mask))?;
    // It may have been moved before the subscription held.
    let mut may_have_moved = true;
    while wanted.strong_count() > 0 {
        if !may_have_moved && !server.wait()? {
            continue;
        }
        may_have_moved = false;
        if let Some(place) = server.place(direction)?.filter(|place| *place != last) {
            match places.try_send(place.clone()) {
                Ok(()) => last = place,
                Err(TrySendError::Full(_)) => {}
                Err(TrySendError::Disconnected(_)) => return Ok(()),
            }
        }
    }
    Ok(())
}

/// A connection.
struct Server {
    socket: BufReader<UnixStream>,
    version: u16,
    asked: u32,
    /// The server has said that something changed.
    has_news: bool,
}

impl Server {
    fn connect() -> Result<Self, ProtocolError> {
        let path = pulseaudio::socket_path_from_env()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no sound server of this protocol"))?;
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        socket.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let mut server =
            Self { socket: BufReader::new(socket), version: MAX_VERSION, asked: 0, has_news: false };
        let cookie = pulseaudio::cookie_path_from_env().and_then(|path| std::fs::read(path).ok());
        let auth = AuthParams {
            version: MAX_VERSION,
            supports_shm: false,
            supports_memfd: false,
            cookie: cookie.unwrap_or_default(),
        };
        let reply: AuthReply = server.get(&Command::Auth(auth))?;
        server.version = MAX_VERSION.min(reply.version);
        let mut props = Props::new();
        props.set(Prop::ApplicationName, c"voiced (routes)");
        let _named: SetClientNameReply = server.get(&Command::SetClientName(props))?;
        Ok(server)
    }

    /// Where the newest of this process's streams is.
    fn place(&mut self, direction: Direction) -> Result<Option<Place>, ProtocolError> {
        Ok(match direction {
            Direction::Capture => {
                let streams: SourceOutputInfoList = self.get(&Command::GetSourceOutputInfoList)?;
                let ours = streams.iter().filter(|stream| is_ours(&stream.props));
                let Some(stream) = ours.max_by_key(|stream| stream.index) else { return Ok(None) };
                let index = Some(stream.source_index);
                let source: SourceInfo =
                    self.get(&Command::GetSourceInfo(GetSourceInfo { index, name: None }))?;
                Some(Place {
                    name: source.name.to_string_lossy().into_owned(),
                    is_monitor: source.monitor_of_sink_index.is_some(),
                })
            }
            Direction::Playback => {
                let streams: SinkInputInfoList = self.get(&Command::GetSinkInputInfoList)?;
                let ours = streams.iter().filter(|stream| is_ours(&stream.props));
                let Some(stream) = ours.max_by_key(|stream| stream.index) else { return Ok(None) };
                let index = Some(stream.sink_index);
                let sink: SinkInfo = self.get(&Command::GetSinkInfo(GetSinkInfo { index, name: None }))?;
                Some(Place { name: sink.name.to_string_lossy().into_owned(), is_monitor: false })
            }
        })
    }

    /// Waits until the server says that something changed; `false` after [`WAIT`] without.
    fn wait(&mut self) -> Result<bool, ProtocolError> {
        if !std::mem::take(&mut self.has_news) {
            self.socket.get_ref().set_read_timeout(Some(WAIT))?;
            let begun = self.socket.fill_buf().map(<[u8]>::len);
            self.socket.get_ref().set_read_timeout(Some(ANSWER_TIMEOUT))?;
            match begun {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(_) => drop(self.message()?),
                Err(error) if is_timeout(&error) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            self.has_news = false;
        }
        // What changed in the same moment is one change.
        while !self.socket.buffer().is_empty() {
            self.message()?;
        }
        self.has_news = false;
        Ok(true)
    }

    /// Asks, and reads the answer.
    fn get<T: TagStructRead>(&mut self, command: &Command) -> Result<T, ProtocolError> {
        let answer = self.ask(command)?;
        TagStructReader::new(&mut answer.as_slice(), self.version).read()
    }

    /// Asks, and gives the answer's bytes.
    fn ask(&mut self, command: &Command) -> Result<Vec<u8>, ProtocolError> {
        self.asked += 1;
        let mut bytes = Vec::new();
        write_command_message(&mut bytes, self.asked, command, self.version)?;
        self.socket.get_mut().write_all(&bytes)?;
        loop {
            let Message { tag, sequence, rest } = self.message()?;
            if sequence == self.asked && tag == REPLY {
                return Ok(rest);
            }
            if sequence == self.asked && tag == ERROR {
                return Err(ProtocolError::Invalid(format!("the sound server refuses {command:?}")));
            }
        }
    }

    fn message(&mut self) -> Result<Message, ProtocolError> {
        let descriptor = read_descriptor(&mut self.socket)?;
        if descriptor.length > ANSWER_BYTES_MAX {
            return Err(ProtocolError::Invalid(format!("a message of {} bytes", descriptor.length)));
        }
        let mut bytes = Vec::new();
        (&mut self.socket).take(u64::from(descriptor.length)).read_to_end(&mut bytes)?;
        let mut rest = bytes.as_slice();
        let mut head = TagStructReader::new(&mut rest, self.version);
        let (tag, sequence) = (head.read_u32()?, head.read_u32()?);
        self.has_news |= tag == EVENT;
        Ok(Message { tag, sequence, rest: rest.to_vec() })
    }
}

struct Message {
    tag: u32,
    sequence: u32,
    rest: Vec<u8>,
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn is_ours(props: &Props) -> bool {
    let ours = std::process::id().to_string();
    props
        .get(Prop::ApplicationProcessId)
        .is_some_and(|id| id.strip_suffix(b"\0").unwrap_or(id) == ours.as_bytes())
}

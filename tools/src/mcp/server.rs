// SPDX-License-Identifier: MIT OR Apache-2.0

//! One server: connected, listed, watched, and started over when it ends.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, redirect, retry};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, Implementation, PaginatedRequestParams, PingRequest,
    Tool,
};
use rmcp::service::{NotificationContext, Peer, RunningService, serve_client};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use super::call::lost;
use super::child::Process;
use super::lines::Lost;
use super::listing::{Faulty, Unread};
use super::polite::{Heard, Polite};
use super::progress::Board;
use super::words::brief;
use super::{MESSAGE_BYTES_MAX, Reach, ServerConfig};
use crate::apart::apart;
use crate::secret::{Secret, redacted};

/// How long a server may take from its start to its list of tools. Interpreters on small devices take many seconds.
const OPEN_LIMIT: Duration = Duration::from_secs(30);

/// First pause before a server is started again; each next one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(500);

/// Longest pause before a server is started again.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A server that stayed up for so long has earned a short pause again.
const HELD: Duration = Duration::from_secs(30);

/// How often a server over HTTP is asked whether it is there: nothing else tells that it is not. A child's end is seen.
const PING_EVERY: Duration = Duration::from_secs(10);

/// How long an answer to that is waited for.
const PING_LIMIT: Duration = Duration::from_secs(5);

/// How long a connection over HTTP may take to be made. It never leaves this machine.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// How long a list of tools that has changed may take.
const LIST_LIMIT: Duration = Duration::from_secs(10);

/// Pause before a list that has changed is fetched: changes come in bursts, and a server may announce them in a loop.
const LIST_PAUSE: Duration = Duration::from_millis(250);

/// Most tools of one server that are looked at. Live models choose badly among far fewer.
pub(super) const TOOLS_MAX: usize = 128;

/// Most that all tools of one server may take together, written out: no more on many pages than one message may hold.
const TOOLS_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// Most pages a list of tools may have: one that never ends would be fetched for ever.
const PAGES_MAX: usize = 32;

/// How long the end of a child is waited for, to say how it ended rather than that its output closed.
const STATUS_WAIT: Duration = Duration::from_millis(200);

/// One server and what is known of it.
pub(super) struct Server {
    pub(super) config: ServerConfig,
    /// What is masked wherever the server's words are logged.
    secrets: Arc<[Secret]>,
    state: watch::Sender<State>,
    broken: Notify,
}

#[derive(Clone)]
enum State {
    Starting,
    Up(Arc<Up>),
    Down { why: String },
}

/// A connection, and the tools it has.
pub(super) struct Up {
    pub(super) peer: Peer<RoleClient>,
    pub(super) tools: Vec<Arc<Tool>>,
    /// What of its list could not be read.
    pub(super) unread: Vec<Faulty>,
    /// Where the progress of a call can be listened to.
    pub(super) progress: Board,
    /// Counts answers that were dropped. Only a child's can be told from none.
    pub(super) lost: Option<Lost>,
}

impl Server {
    pub(super) fn new(config: ServerConfig, secrets: &[Secret]) -> Self {
        let secrets = secrets.iter().cloned().chain(passed(&config.reach)).collect();
        Self { config, secrets, state: watch::Sender::new(State::Starting), broken: Notify::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    /// What of its environment and of the device's own secrets nobody may read.
    pub(super) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// The connection, if there is one.
    pub(super) fn up(&self) -> Option<Arc<Up>> {
        match &*self.state.borrow() {
            State::Up(up) => Some(Arc::clone(up)),
            State::Starting | State::Down { .. } => None,
        }
    }

    /// Waits until it is up or has failed once; then says why.
    pub(super) async fn settled(&self) -> Result<(), String> {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| !matches!(state, State::Starting)).await;
        match settled.as_deref() {
            Ok(State::Down { why }) => Err(why.clone()),
            // The sender lives as long as `self`.
            Ok(State::Starting | State::Up(_)) | Err(_) => Ok(()),
        }
    }

    /// A call could not be handed over: the connection is of no use any more.
    pub(super) fn mark_broken(&self) {
        self.broken.notify_one();
    }
}

/// What a child is given to know, line by line, as it is logged line by line.
fn passed(reach: &Reach) -> Vec<Secret> {
    let names = match reach {
        Reach::Child { env, .. } => env.as_slice(),
        Reach::Http { .. } => &[],
    };
    let values = names.iter().filter_map(|name| std::env::var(name).ok());
    values.flat_map(|value| value.lines().map(Secret::new).collect::<Vec<_>>()).collect()
}

/// Keeps the server up until it is dropped. What is read of a child has its pace; HTTP has none, and a thread of its own.
pub(super) async fn look_after(server: Arc<Server>) {
    match server.config.reach {
        Reach::Child { .. } => supervise(server).await,
        Reach::Http { .. } => {
            if let Err(cause) = apart(supervise(Arc::clone(&server))).await {
                let why = format!("nothing can be done for it: {cause}");
                tracing::warn!(server = server.name(), "mcp server down: {why}");
                server.state.send_replace(State::Down { why });
            }
        }
    }
}

async fn supervise(server: Arc<Server>) {
    let name: Arc<str> = server.name().into();
    let mut pause = PAUSE_MIN;
    let mut told = String::new();
    let mut was_up = false;
    loop {
        let why = match timeout(OPEN_LIMIT, Link::open(&server, &name)).await {
            Err(_) => format!("it gave no list of tools within {} s", OPEN_LIMIT.as_secs()),
            Ok(Err(why)) => why,
            Ok(Ok(link)) => {
                let since = Instant::now();
                told.clear();
                was_up = true;
                let why = link.serve(&server, &name).await;
                if since.elapsed() >= HELD {
                    pause = PAUSE_MIN;
                }
                why
            }
        };
        let why = redacted(&server.secrets, &why);
        if why != told {
            if was_up {
                tracing::warn!(server = &*name, "mcp server down, no tools until it is back: {why}");
            } else {
                // Whoever waits for the servers at the start warns of those that are missing.
                tracing::info!(server = &*name, "mcp server not up yet: {why}");
            }
            told.clone_from(&why);
        }
        server.state.send_replace(State::Down { why });
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// What is heard of a server without being asked for.
struct Ear {
    changed: Arc<Notify>,
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("voiced", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

/// A connection that is being looked after.
struct Link {
    service: RunningService<RoleClient, Ear>,
    process: Option<Process>,
    changed: Arc<Notify>,
    heard: Heard,
    tools: Listed,
    lost: Option<Lost>,
}

/// A list of tools, and what could not be read of it.
type Listed = (Vec<Arc<Tool>>, Vec<Faulty>);

impl Link {
    async fn open(server: &Server, name: &Arc<str>) -> Result<Self, String> {
        let changed = Arc::new(Notify::new());
        let ear = Ear { changed: Arc::clone(&changed) };
        let heard = Heard { unread: Unread::new(&server.secrets), progress: Board::default() };
        // A complaint about an earlier connection says nothing about this one.
        let _ = timeout(Duration::ZERO, server.broken.notified()).await;
        match &server.config.reach {
            Reach::Http { url } => {
                let (service, tools) = greeted(ear, Polite::new(name, http(url)?, &heard), &heard).await?;
                Ok(Self { service, process: None, changed, heard, tools, lost: None })
            }
            Reach::Child { command, env } => {
                let (mut process, lines) =
                    Process::start(name, command, env, &server.secrets).map_err(|cause| {
                        format!("`{}` cannot be started: {cause}", command.first().map_or("", String::as_str))
                    })?;
                let losses = Some(lines.lost());
                let greeted = tokio::select! {
                    greeted = greeted(ear, Polite::new(name, lines, &heard), &heard) => greeted,
                    what_is_wrong = lost(losses.clone()) => return Err(format!("its answer {what_is_wrong}")),
                };
                match greeted {
                    Ok((service, tools)) => {
                        Ok(Self { service, process: Some(process), changed, heard, tools, lost: losses })
                    }
                    Err(why) => Err(match timeout(STATUS_WAIT, process.ended()).await {
                        Ok(Ok(status)) if !status.success() => format!("it ended at once ({status})"),
                        // It ended because we hung up.
                        Ok(Ok(_) | Err(_)) | Err(_) => why,
                    }),
                }
            }
        }
    }

    /// Offers its tools until the connection ends; says why it did.
    async fn serve(self, server: &Server, name: &str) -> String {
        let Self { service, mut process, changed, heard, tools, lost } = self;
        let peer = service.peer().clone();
        let publish = |(tools, unread): Listed| {
            tracing::info!(server = name, tools = tools.len(), "mcp server up");
            server.state.send_replace(State::Up(Arc::new(Up {
                peer: peer.clone(),
                tools,
                unread,
                progress: heard.progress.clone(),
                lost: lost.clone(),
            })));
        };
        publish(tools);
        let mut closed = pin!(service.waiting());
        let mut ping = interval(PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let is_child = process.is_some();
        let mut why = loop {
            let ended = async {
                match &mut process {
                    Some(process) => process.ended().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                status = ended => break match status {
                    Ok(status) => format!("it ended ({status})"),
                    Err(cause) => format!("it cannot be watched: {cause}"),
                },
                _ = &mut closed => break "the connection was closed".to_owned(),
                () = server.broken.notified() => break "it took a call no more".to_owned(),
                () = changed.notified() => {
                    sleep(LIST_PAUSE).await;
                    match timeout(LIST_LIMIT, listed(&peer, &heard.unread)).await {
                        Ok(Ok(tools)) => publish(tools),
                        Ok(Err(why)) => break why,
                        Err(_) => break "it did not give its list of tools again".to_owned(),
                    }
                }
                _ = ping.tick(), if !is_child => {
                    if let Err(why) = pinged(&peer).await {
                        break why;
                    }
                }
            }
        };
        // From here on no call is handed over.
        server.state.send_replace(State::Down { why: redacted(&server.secrets, &why) });
        if let Some(mut process) = process {
            if let Ok(Ok(status)) = timeout(STATUS_WAIT, process.ended()).await {
                why = format!("it ended ({status})");
            }
            process.end().await;
        }
        why
    }
}

/// Shakes hands and lists the tools.
async fn greeted<T: Transport<RoleClient> + 'static>(
    ear: Ear,
    transport: Polite<T>,
    heard: &Heard,
) -> Result<(RunningService<RoleClient, Ear>, Listed), String> {
    let service = serve_client(ear, transport)
        .await
        .map_err(|cause| format!("it did not shake hands: {}", brief(&cause)))?;
    let tools = listed(service.peer(), &heard.unread).await?;
    Ok((service, tools))
}

async fn listed(peer: &Peer<RoleClient>, unread: &Unread) -> Result<Listed, String> {
    // Of a list that was given up.
    let _ = unread.take();
    let mut tools = Vec::new();
    let mut room = TOOLS_BYTES_MAX;
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer
            .list_tools(Some(params))
            .await
            .map_err(|cause| format!("it did not list its tools: {}", brief(&cause)))?;
        cursor = page.next_cursor;
        for tool in page.tools {
            let fits = written(&tool).and_then(|bytes| room.checked_sub(bytes));
            let Some(left) = fits.filter(|_| tools.len() < TOOLS_MAX) else {
                tracing::warn!(
                    "an mcp server has more than {TOOLS_MAX} tools, or they take more than {TOOLS_BYTES_MAX} bytes; only \
                     the first ones are looked at"
                );
                return Ok((tools, unread.take()));
            };
            room = left;
            tools.push(Arc::new(tool));
        }
        if cursor.is_none() {
            break;
        }
    }
    Ok((tools, unread.take()))
}

/// How many bytes the tool takes, written out.
fn written(tool: &Tool) -> Option<usize> {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, tool).ok().map(|()| count.0)
}

/// Whether anybody is there. A complaint is an answer too.
async fn pinged(peer: &Peer<RoleClient>) -> Result<(), String> {
    use rmcp::ServiceError;
    let ping = peer.send_request(ClientRequest::PingRequest(PingRequest::default()));
    match timeout(PING_LIMIT, ping).await {
        Err(_) => Err("it does not answer".to_owned()),
        Ok(Err(cause @ (ServiceError::TransportSend(_) | ServiceError::TransportClosed))) => {
            Err(format!("it cannot be reached: {}", brief(&cause)))
        }
        Ok(Ok(_) | Err(_)) => Ok(()),
    }
}

fn http(url: &str) -> Result<StreamableHttpClientTransport<Client>, String> {
    // Without this check the client's constructor panics.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err("no TLS provider is installed in this process".to_owned());
    }
    let client = Client::builder()
        .connect_timeout(CONNECT_LIMIT)
        // It was checked to be on this machine; where it sends us was not.
        .redirect(redirect::Policy::none())
        // A call that is sent twice may act twice.
        .retry(retry::never())
        .pool_max_idle_per_host(0)
        .no_proxy()
        // Clear text needs no root certificates, and a small image may have none.
        .tls_certs_only([])
        .build()
        .map_err(|cause| format!("the HTTP client cannot be made: {cause}"))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_sse_event_size(MESSAGE_BYTES_MAX)
        .max_json_response_size(MESSAGE_BYTES_MAX)
        .max_error_response_size(4 * 1024)
        // A server that forgot the session may have other tools: connecting again lists them.
        .reinit_on_expired_session(false);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

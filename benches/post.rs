//! Durable posts over HTTP against a bare actix-web JSON echo, in one run: the server pinned to one core, the load to
//! the other, the same bytes, the same 64 connections. Prints requests a second, the ratio and where the post's time
//! goes by the p50 and p99 of both.
//!
//! `cargo bench --bench post` runs it; `POST_SECONDS`, `POST_CONNECTIONS`, `POST_THREADS`, `POST_ROUNDS` change it.

mod server;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::{App, HttpResponse, HttpServer, web};
use server::{Server, call};

/// As in the contract's shape, about what an agent says.
const BODY: &str = r#"{"kind":"note","body":"The second replica answers within the bound; the log of the run is attached to the build.","from":{"extension":"worker-2"},"provenance":{"model":"bench","client":"post"}}"#;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    if std::env::var_os("POST_ECHO").is_some() {
        return echo();
    }
    let seconds = Duration::from_secs(setting("POST_SECONDS", 5) as u64);
    let connections = setting("POST_CONNECTIONS", 64);
    let threads = setting("POST_THREADS", 1_000);
    let rounds = setting("POST_ROUNDS", 3);
    // The load shares one core, the servers get the other.
    pin_self("1");
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let echo = echo_beside();
        let bare = load(&echo.address, &["/echo".to_string()], None, connections, seconds);
        drop(echo);
        let forum = forum();
        let (tokens, paths) = people_and_threads(&forum, connections, threads);
        let posts = load(&forum.address, &paths, Some(&tokens), connections, seconds);
        let ratio = posts.per_second() / bare.per_second();
        println!("round {round}: echo {bare}");
        println!("round {round}: post {posts}");
        println!("round {round}: ratio {ratio:.3}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "durable posts against a bare echo, one core each side: median ratio {:.3}",
        ratios[ratios.len() / 2]
    );
}

#[actix_web::main]
async fn echo_server() -> std::io::Result<()> {
    let server = HttpServer::new(|| {
        App::new().route(
            "/echo",
            web::post().to(|body: web::Json<serde_json::Value>| async move {
                HttpResponse::Ok().json(body.0)
            }),
        )
    })
    .workers(1)
    .bind("127.0.0.1:0")?;
    println!("http://{}", server.addrs()[0]);
    server.run().await
}

fn echo() {
    echo_server().expect("the echo serves until it is killed");
}

fn pin_self(core: &str) {
    let pid = std::process::id().to_string();
    let pinned =
        Command::new("taskset").args(["-a", "-c", "-p", core, &pid]).stdout(Stdio::null()).status();
    assert!(
        pinned.is_ok_and(|status| status.success()),
        "taskset (util-linux) pins processes to cores"
    );
}

/// A command on core 0.
fn pinned(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", program]);
    command
}

fn echo_beside() -> Server {
    let this = std::env::current_exe().expect("a running program has a path");
    let mut command = pinned(&this.to_string_lossy());
    command.env("POST_ECHO", "1");
    Server::start(command, None)
}

fn forum() -> Server {
    let mut command = pinned(env!("CARGO_BIN_EXE_parley"));
    command.env("PARLEY_SERVER_WORKERS", "1");
    Server::forum(command)
}

/// One token for each connection, and threads that all of them may post to.
fn people_and_threads(
    server: &Server,
    people: usize,
    threads: usize,
) -> (Vec<String>, Vec<String>) {
    let tokens: Vec<String> = (0..people).map(|n| server.token(&format!("bench {n}"))).collect();
    let paths = (0..threads)
        .map(|n| {
            let opened = call(
                &server.address,
                &tokens[n % people],
                "/api/v1/boards/lobby/threads",
                r#"{"kind":"ask","body":"How fast?"}"#,
            );
            format!(
                "/api/v1/threads/{}/messages",
                opened["thread"]["id"].as_str().expect("a thread is opened")
            )
        })
        .collect();
    (tokens, paths)
}

struct Figures {
    latencies_us: Vec<u32>,
    refused: usize,
    elapsed: Duration,
}

impl Figures {
    fn per_second(&self) -> f64 {
        self.latencies_us.len() as f64 / self.elapsed.as_secs_f64()
    }

    fn percentile_ms(&self, percent: usize) -> f64 {
        let at = (self.latencies_us.len() * percent / 100)
            .min(self.latencies_us.len().saturating_sub(1));
        self.latencies_us.get(at).map_or(0.0, |us| f64::from(*us) / 1_000.0)
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:>8.0}/s  p50 {:.2} ms  p99 {:.2} ms  refused {}",
            self.per_second(),
            self.percentile_ms(50),
            self.percentile_ms(99),
            self.refused
        )
    }
}

/// A closed loop: each connection sends, waits for the answer, sends again. Connection c posts to the threads
/// c, c + connections, …, in turn with a neighbour's token, so that nobody answers itself.
fn load(
    address: &str,
    paths: &[String],
    tokens: Option<&[String]>,
    connections: usize,
    time: Duration,
) -> Figures {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let stop = Arc::new(AtomicBool::new(false));
    runtime.block_on(async {
        let begin = Instant::now();
        let tasks: Vec<_> = (0..connections)
            .map(|connection| {
                let mine: Vec<&String> = paths.iter().skip(connection % paths.len()).step_by(connections).collect();
                let request = |path: &str, turn: usize| {
                    let authorization = tokens.map_or(String::new(), |tokens| {
                        format!("authorization: Bearer {}\r\n", tokens[(connection + 1 + turn) % tokens.len()])
                    });
                    format!("POST {path} HTTP/1.1\r\nhost: x\r\n{authorization}content-type: application/json\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len())
                };
                let requests: Vec<String> = (0..2).flat_map(|turn| mine.iter().map(move |path| request(path, turn))).collect();
                tokio::spawn(drive(address.to_string(), requests, Arc::clone(&stop)))
            })
            .collect();
        tokio::time::sleep(time).await;
        stop.store(true, Ordering::Relaxed);
        let mut figures = Figures { latencies_us: Vec::new(), refused: 0, elapsed: begin.elapsed() };
        for task in tasks {
            let (latencies, refused) = task.await.expect("a connection does not panic");
            figures.latencies_us.extend(latencies);
            figures.refused += refused;
        }
        figures.latencies_us.sort_unstable();
        figures
    })
}

async fn drive(address: String, requests: Vec<String>, stop: Arc<AtomicBool>) -> (Vec<u32>, usize) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(&address).await.expect("the server listens");
    stream.set_nodelay(true).expect("a socket takes nodelay");
    let (mut latencies, mut refused) = (Vec::new(), 0);
    let mut buffer = vec![0u8; 16 * 1024];
    for request in requests.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let begin = Instant::now();
        stream.write_all(request.as_bytes()).await.expect("the request goes out");
        let mut length = 0;
        let ok = loop {
            let read = stream.read(&mut buffer[length..]).await.expect("the connection lives");
            assert!(read > 0, "the server closed the connection");
            length += read;
            if let Some(ok) = whole(&buffer[..length]) {
                break ok;
            }
        };
        if ok {
            latencies.push(begin.elapsed().as_micros() as u32);
        } else {
            refused += 1;
        }
    }
    (latencies, refused)
}

/// Whether a whole answer is there, and whether it is a success.
fn whole(answer: &[u8]) -> Option<bool> {
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&answer[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    (answer.len() >= head + 4 + length).then(|| text.starts_with("HTTP/1.1 2"))
}

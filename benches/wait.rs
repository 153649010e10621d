//! Thousands of parked `wait` calls on one server: the memory of each, what the processor does meanwhile, and how long
//! one message takes to wake them all. Every caller has a token of its own. Prints the figures; it stops by itself.
//!
//! `cargo bench --bench wait` runs it; `WAIT_CALLERS` and `WAIT_IDLE_SECONDS` change it.

mod server;

use std::process::Command;
use std::time::{Duration, Instant};

use server::{Server, call};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let callers = setting("WAIT_CALLERS", 5_000);
    let idle = Duration::from_secs(setting("WAIT_IDLE_SECONDS", 10));
    let server = Server::forum(Command::new(env!("CARGO_BIN_EXE_parley")));
    let tokens: Vec<String> =
        (0..callers).map(|at| server.token(&format!("waiter {at}"))).collect();
    let asker = server.token("asker");
    let quiet = use_of(&server);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        for token in tokens {
            let (address, tell) = (server.address.clone(), tell.clone());
            tokio::spawn(async move {
                let mut stream = tokio::net::TcpStream::connect(&address).await.expect("it listens");
                let request = format!(
                    "GET /api/v1/wait?timeout=50 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(request.as_bytes()).await.expect("the request goes out");
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.expect("an answer comes back");
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                let found = answer.contains("\"due\":\"anyone\"");
                tell.send((Instant::now(), found)).expect("somebody counts");
            });
        }
        // Until all of them are parked.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let parked = use_of(&server);
        tokio::time::sleep(idle).await;
        let after = use_of(&server);
        let busy = after.processor - parked.processor;
        println!("{callers} parked calls of `wait`");
        println!(
            "memory: {:.1} KiB for each ({} MiB before, {} MiB with them)",
            (parked.memory_kib - quiet.memory_kib) as f64 / callers as f64,
            quiet.memory_kib / 1024,
            parked.memory_kib / 1024
        );
        println!(
            "processor while nothing happens: {:.2} % of one core over {} s",
            100.0 * busy.as_secs_f64() / idle.as_secs_f64(),
            idle.as_secs()
        );
        let asked = Instant::now();
        let (address, body) = (server.address.clone(), r#"{"kind":"ask","body":"Who knows?"}"#);
        let opened = tokio::task::spawn_blocking(move || {
            call(&address, &asker, "/api/v1/boards/lobby/threads", body)
        });
        let mut woken: Vec<Duration> = Vec::new();
        while (woken.len() as u64) < callers {
            let (at, found) = told.recv().await.expect("all of them answer");
            assert!(found, "whoever waits is told of the message, not sent home");
            woken.push(at.duration_since(asked));
        }
        opened.await.expect("it is posted");
        woken.sort_unstable();
        println!(
            "one message wakes them: first {:?}, half {:?}, 99 % {:?}, last {:?}",
            woken[0],
            woken[woken.len() / 2],
            woken[woken.len() * 99 / 100],
            woken[woken.len() - 1]
        );
    });
}

/// What a process has used.
struct Use {
    memory_kib: u64,
    processor: Duration,
}

/// Read from the kernel's files of the process.
fn use_of(server: &Server) -> Use {
    let read = |file: &str| {
        std::fs::read_to_string(format!("/proc/{}/{file}", server.child.id())).expect("it runs")
    };
    let status = read("status");
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = memory.and_then(|line| line.trim().split(' ').next()?.parse().ok());
    let stat = read("stat");
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<u64>().expect("ticks of a hundredth second");
    Use {
        memory_kib: memory.expect("the resident size"),
        processor: Duration::from_millis((ticks(11) + ticks(12)) * 10),
    }
}

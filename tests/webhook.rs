//! The operator is told of requests at once: signed, again after failures, in order, over restarts, and never to private
//! addresses unless that is allowed.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use harness::World;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

const PATIENCE: Duration = Duration::from_secs(20);

/// What came to the receiver.
struct Told {
    id: String,
    timestamp: String,
    signature: String,
    body: String,
}

impl Told {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut told = Self {
            id: String::new(),
            timestamp: String::new(),
            signature: String::new(),
            body: String::new(),
        };
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line).ok()? > 2 {
            if let Some((name, value)) = line.split_once(": ") {
                let value = value.trim().to_owned();
                match &*name.to_lowercase() {
                    "webhook-id" => told.id = value,
                    "webhook-timestamp" => told.timestamp = value,
                    "webhook-signature" => told.signature = value,
                    "content-length" => length = value.parse().ok()?,
                    _ => {}
                }
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        told.body = String::from_utf8(body).ok()?;
        Some(told)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

/// A receiver that answers with these statuses, then always with 204. A status of 0 hangs up.
fn receiver(answers: &'static [u16]) -> (u16, Receiver<Told>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut answers = answers.iter();
        for mut stream in listener.incoming().flatten() {
            let Some(one) = Told::read(&stream) else { continue };
            let status = answers.next().copied().unwrap_or(204);
            if status != 0 {
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
            if tell.send(one).is_err() {
                return;
            }
        }
    });
    (port, told)
}

fn application(label: &str) -> Value {
    json!({"label": label, "purpose": "p", "model": "m", "client": "c", "provider": "x", "contact": "ops@example.org"})
}

#[test]
fn the_operator_is_told_once_it_listens_in_order_and_signed() {
    let (port, told) = receiver(&[500, 0, 302]);
    let world = World::start_with(|config| {
        config.webhook.url = format!("http://127.0.0.1:{port}/hook?a=b");
        config.webhook.allow_private_addresses = true;
    });
    let nobody = world.person("nobody");
    nobody.post("/tokens/request", &application("Codex")).expect(201);
    let wish = json!({"title": "Dark mode", "body": "For the night."});
    world.person("writer").post("/features", &wish).expect(201);
    let review = json!({"decision": "rejected"});
    world.person("human").post("/token-requests/req_1/review", &review).expect(200);
    let next = || told.recv_timeout(PATIENCE).expect("it is told");
    // Three failures and a success are one and the same thing told.
    let tries: Vec<Told> = (0..4).map(|_| next()).collect();
    assert!(tries.iter().all(|one| one.id == tries[0].id && one.body == tries[0].body));
    let first = tries[3].json();
    let data = &first["data"];
    assert_eq!((&first["type"], &data["id"]), (&json!("token_request"), &json!("req_1")));
    assert_eq!(
        (&data["contact"], &data["position"]),
        (&json!("ops@example.org"), &json!(tries[0].id))
    );
    let second = next();
    assert_eq!(second.json()["data"]["title"], "Dark mode");
    let key_path = world.data_dir().join("webhook.key");
    let mode = std::fs::metadata(&key_path).expect("the key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = std::fs::read_to_string(&key_path).expect("the key");
    let key = BASE64.decode(key.trim().strip_prefix("whsec_").expect("a key")).expect("base64");
    for one in tries.iter().chain([&second]) {
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
        mac.update(format!("{}.{}.{}", one.id, one.timestamp, one.body).as_bytes());
        assert_eq!(one.signature, format!("v1,{}", BASE64.encode(mac.finalize().into_bytes())));
    }
    // What was told is not told again; what comes next is.
    let world = world.restart();
    world.person("nobody").post("/tokens/request", &application("Amp")).expect(201);
    let mut later = next();
    if later.id == second.id {
        // The end came before it was written down that it was told: at least once, not exactly once.
        later = next();
    }
    assert_eq!(later.json()["data"]["label"], "Amp");
    assert!(told.try_recv().is_err());
}

#[test]
fn what_could_not_be_told_before_the_end_is_told_after_it() {
    // Nobody listens here once the listener is gone.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    drop(listener);
    let world = World::start_with(|config| {
        config.webhook.url = format!("http://127.0.0.1:{port}/");
        config.webhook.allow_private_addresses = true;
    });
    world.person("nobody").post("/tokens/request", &application("Codex")).expect(201);
    std::thread::sleep(Duration::from_millis(300));
    let (port, told) = receiver(&[]);
    let world =
        world.restart_with(|config| config.webhook.url = format!("http://127.0.0.1:{port}/"));
    let late = told.recv_timeout(PATIENCE).expect("it is told");
    assert_eq!(late.json()["data"]["label"], "Codex");
    drop(world);
}

#[test]
fn a_private_address_is_not_called() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("it does not block");
    let port = listener.local_addr().expect("its address").port();
    for host in ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"] {
        let world =
            World::start_with(|config| config.webhook.url = format!("http://{host}:{port}/"));
        world.person("nobody").post("/tokens/request", &application("Codex")).expect(201);
        std::thread::sleep(Duration::from_millis(700));
        assert!(listener.accept().is_err(), "{host} was called");
    }
}

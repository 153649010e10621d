//! The program as a person meets it: what it prints, what it refuses, and how it ends.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use harness::child::Child;
use harness::{human, text};
use serde_json::{Value, json};
use tempfile::TempDir;

fn parley(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parley"));
    command.args(arguments).output().expect("the program runs")
}

fn printed(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn a_first_start_makes_the_key_and_the_lobby_and_a_second_one_keeps_them() {
    let folder = TempDir::new().expect("a temporary folder");
    let data_dir = folder.path().join("data");
    let first = Child::start(&data_dir);
    let mode = fs::metadata(&data_dir).expect("the data directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "nobody else reads what is said");
    assert_eq!(first.announced["first_start"], true);
    let key_path = first.operator_key_path();
    let mode = fs::metadata(&key_path).expect("the key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else reads the key");
    let key = fs::read_to_string(&key_path).expect("the key");
    assert!(!first.announced.to_string().contains(key.trim()), "the key is not printed");
    let operator = human(&first.origin(), &key_path);
    assert_eq!(operator.get("/boards/lobby").expect(200)["board"]["id"], 1);
    first.kill();

    let second = Child::start(&data_dir);
    assert_eq!(second.announced["first_start"], false);
    assert_eq!(fs::read_to_string(&key_path).expect("the key"), key);
    operator.at(&second.origin()).get("/boards/lobby").expect(200);
}

#[test]
fn sigterm_ends_it_well_within_ten_seconds_and_keeps_what_was_acknowledged() {
    let folder = TempDir::new().expect("a temporary folder");
    let server = Child::start(folder.path());
    let operator = human(&server.origin(), &server.operator_key_path());
    let opened =
        operator.opens(&json!({"kind": "ask", "body": "Still there tomorrow?"})).expect(201);
    let asked = Instant::now();
    server.terminate();
    assert_eq!(server.ended().code(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(10));

    let again = Child::start(folder.path());
    let thread = text(&opened["thread"]["id"]);
    assert_eq!(operator.at(&again.origin()).reads(&thread).0, opened["thread"]);
}

#[test]
fn the_operator_issues_a_token_that_works_and_is_printed_once() {
    let folder = TempDir::new().expect("a temporary folder");
    let server = Child::start(folder.path());
    let (origin, dir) = (server.origin(), folder.path().display().to_string());
    let create = [
        "token",
        "create",
        "--label",
        "worker",
        "--rights",
        "write,pin",
        "--url",
        &origin,
        "--data-dir",
        &dir,
    ];
    let issued = printed(&parley(&[&create[..], &["--json"]].concat()));
    assert_eq!(issued["identity"], "parley:worker");
    let token = text(&issued["token"]);
    let snippets = issued["clients"].to_string();
    assert!(snippets.contains(&origin) && !snippets.contains(&token), "{snippets}");
    let worker = human(&origin, &server.operator_key_path());
    let worker = harness::Person::new("worker", worker.client.with_token(token));
    worker.opens(&json!({"kind": "note", "body": "Good morning"})).expect(201);

    let said = parley(&create);
    let said = String::from_utf8(said.stdout).expect("text");
    let token = said.split("PARLEY_TOKEN=").nth(1).and_then(|rest| rest.split_whitespace().next());
    let token = token.expect("a line that sets the variable");
    assert_eq!(said.matches(token).count(), 1, "{said}");

    let refused = parley(&[
        "token",
        "create",
        "--label",
        "x",
        "--rights",
        "fly",
        "--url",
        &origin,
        "--data-dir",
        &dir,
        "--json",
    ]);
    assert_eq!(refused.status.code(), Some(1));
    let refusal: Value = serde_json::from_slice(&refused.stderr).expect("one JSON object");
    assert_eq!(refusal["reason"], "invalid_body");
}

#[test]
fn wrong_settings_end_it_with_two_and_a_sentence() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("my.toml");
    fs::write(&file, "[server]\nlisen = \"127.0.0.1:1\"\n").expect("the file");
    let file = file.display().to_string();
    let check = |arguments: &[&str], sentence: &str| {
        let output = parley(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(sentence), "{said}");
    };
    check(
        &["serve", "--config", &file],
        "line 2: unknown setting `server.lisen`; did you mean `server.listen`?",
    );
    check(&["serve", "--config", "/no/such/file"], "cannot read /no/such/file");
    check(&["serve", "--listen", "0.0.0.0:7464"], "server.behind_tls_proxy = true");
    check(&["serve", "--listen", "here"], "--listen: server.listen = here cannot be");
    check(&["serv"], "unrecognized subcommand");
}

#[test]
fn the_readme_names_every_setting() {
    let readme = include_str!("../README.md");
    let mut section = "";
    for line in parley::config::SHIPPED.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#'))
        {
            let row = format!("| `{section}.{key}` | ");
            let default = value.trim_matches('"');
            let told = readme.lines().find(|line| line.starts_with(&row));
            let told = told.unwrap_or_else(|| panic!("README.md says nothing of {section}.{key}"));
            assert!(
                matches!(default, "" | "[]")
                    || told[row.len()..].starts_with(&format!("`{default}`")),
                "{told}: the default is {value}"
            );
        }
    }
}

#[test]
fn the_demo_ends_with_a_confirmed_decision() {
    let output = parley(&["demo", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).expect("text");
    let last: Value = serde_json::from_str(said.lines().last().expect("lines")).expect("JSON");
    assert_eq!(
        (&last["thread"]["state"], &last["thread"]["locked"]),
        (&json!("closed"), &json!(true))
    );
    assert!(last["thread"]["state_confirmed_at"].is_string());
    let refusals: Vec<_> = said.lines().filter(|line| line.contains("\"refused\"")).collect();
    assert_eq!(refusals.len(), 3, "{said}");
    let output = parley(&["demo"]);
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && said.contains("closed confirmed locked"), "{said}");
    assert!(!said.contains('\u{1b}'), "no colours into a pipe");
}

#[test]
fn it_says_its_version_and_what_it_can_do() {
    assert_eq!(printed(&parley(&["version", "--json"]))["version"], env!("CARGO_PKG_VERSION"));
    let help = parley(&["help"]);
    let said = String::from_utf8(help.stdout).expect("text");
    assert!(help.status.success());
    for command in ["serve", "token", "demo", "version"] {
        assert!(said.contains(command), "{said}");
    }
}

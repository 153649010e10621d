//! Clients that others wrote, against the real program. What they need is set up by `.ci/test`.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use harness::child::Child;
use harness::{World, human};
use tempfile::TempDir;

fn python() -> OsString {
    std::env::var_os("PARLEY_PYTHON").expect(
        "PARLEY_PYTHON names a Python that has tests/clients/requirements.txt installed. `.ci/test` makes one and runs all \
         tests; by hand: python3 -m venv target/python && target/python/bin/pip install -r tests/clients/requirements.txt \
         && export PARLEY_PYTHON=$PWD/target/python/bin/python",
    )
}

/// Whatever /openapi.json forbids is refused, whatever it allows is taken, and every answer is as it says: 25 examples
/// for each operation and phase, or `PARLEY_SCHEMATHESIS_EXAMPLES`, from `PARLEY_SCHEMATHESIS_SEED`, once as an agent and once as the human.
#[test]
fn the_server_keeps_the_word_of_its_openapi_document() {
    let setting = |name, default: &str| std::env::var(name).unwrap_or_else(|_| default.into());
    let examples = setting("PARLEY_SCHEMATHESIS_EXAMPLES", "25");
    let seed = setting("PARLEY_SCHEMATHESIS_SEED", "1");
    let world = World::start_with(|config| {
        config.limits.token_requests_per_hour = 1_000_000;
        config.limits.token_requests_pending_max = 1_000_000;
    });
    let everything = ["write", "pin", "lock", "verify", "grant"];
    let agent = world.person("human").issues("fuzzer", &everything);
    // The human comes last: it revokes tokens.
    for person in [&agent, world.person("human")] {
        let folder = TempDir::new().expect("a temporary folder");
        // `wait` without news waits as long as it may.
        let settings = "[[operations]]\ninclude-name = \"GET /api/v1/wait\"\nparameters = { \"query.timeout\" = 0 }\n";
        fs::write(folder.path().join("schemathesis.toml"), settings).expect("the settings");
        let token = person.client.token().expect("a token");
        let output = Command::new(Path::new(&python()).with_file_name("st"))
            .args(["run", &format!("{}/openapi.json", world.origin()), "--no-color"])
            .args([
                "-H",
                &format!("Authorization: Bearer {token}"),
                "-n",
                &examples,
                "--seed",
                &seed,
            ])
            .current_dir(folder.path())
            .env(
                "SCHEMATHESIS_HOOKS",
                concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/schemathesis_hooks.py"),
            )
            .output()
            .expect("schemathesis can be run");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        let tested =
            said.lines().filter(|line| line.contains("Selected:") || line.contains("generated"));
        println!("{}: {}", person.name, tested.collect::<Vec<_>>().join(","));
    }
}

#[test]
fn the_official_python_client_settles_a_question() {
    let folder = TempDir::new().expect("a temporary folder");
    let server = Child::start(folder.path());
    let key_path = server.operator_key_path();
    let operator = human(&server.origin(), &key_path);
    let token =
        |label| operator.issues(label, &["write"]).client.token().expect("a token").to_owned();
    let output = Command::new(python())
        .arg("tests/clients/python_mcp.py")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("PARLEY_ORIGIN", server.origin())
        .env("PARLEY_ASKER", token("asker"))
        .env("PARLEY_ANSWERER", token("answerer"))
        .env("PARLEY_OPERATOR", fs::read_to_string(&key_path).expect("the key").trim())
        .output()
        .expect("PARLEY_PYTHON can be run");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("settled th_1"), "{said}");
}

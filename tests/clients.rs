//! Clients that others wrote, against the real program. What they need is set up by `.ci/test`.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::fs;
use std::process::Command;

use harness::child::Child;
use harness::human;
use tempfile::TempDir;

#[test]
fn the_official_python_client_settles_a_question() {
    let python = std::env::var_os("PARLEY_PYTHON").expect(
        "PARLEY_PYTHON names a Python that has tests/clients/requirements.txt installed. `.ci/test` makes one and runs all \
         tests; by hand: python3 -m venv target/python && target/python/bin/pip install -r tests/clients/requirements.txt \
         && export PARLEY_PYTHON=$PWD/target/python/bin/python",
    );
    let folder = TempDir::new().expect("a temporary folder");
    let server = Child::start(folder.path());
    let key_path = server.operator_key_path();
    let operator = human(&server.origin(), &key_path);
    let token =
        |label| operator.issues(label, &["write"]).client.token().expect("a token").to_owned();
    let output = Command::new(python)
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

//! The documents, the manifest and the table say the same.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use harness::World;
use parley::operation::{Operation, Reach, Table};
use parley::{forum::Forum, operations};
use parley_language::Reason;
use parley_language::transition::transitions;
use serde_json::{Value, json};

struct Documents {
    manifest: Value,
    openapi: Value,
    page: String,
    text: String,
}

fn documents(world: &World) -> Documents {
    let get = |path: &str, kind: &str| {
        let answer = world.send(&format!("GET {path}"), "", b"");
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        answer.text()
    };
    let json = |text: String| serde_json::from_str(&text).expect("JSON");
    Documents {
        manifest: json(get("/api/v1/manifest", "application/json")),
        openapi: json(get("/openapi.json", "application/json")),
        page: get("/parley.html", "text/html; charset=utf-8"),
        text: get("/llms.txt", "text/plain; charset=utf-8"),
    }
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name")).collect()
}

#[test]
fn every_operation_is_in_every_document_as_its_row_says() {
    let world = World::start();
    let said = documents(&world);
    let table = Table::<Forum>::new(operations::table);
    let listed = said.manifest["operations"].as_array().expect("operations");
    assert_eq!(listed.len(), table.rows().len());
    let mut in_openapi = 0;
    for (row, listed) in table.rows().iter().zip(listed) {
        let key = row.key;
        assert_eq!((&listed["key"], &listed["right"]), (&json!(key), &json!(row.needs.name())));
        assert!(said.page.contains(&format!("<td><code>{key}</code><td>")), "{key}");
        assert!(said.text.contains(&format!("\n- {key} (")), "{key}");
        let path = format!("/api/v1{}", row.path);
        let entry = &said.openapi["paths"][&path][row.method.as_str().to_lowercase()];
        if row.reach == Reach::Mcp {
            assert!(listed["path"].is_null() && entry.is_null(), "{key}");
            continue;
        }
        in_openapi += 1;
        assert_eq!(entry["operationId"], key);
        assert_eq!(listed["path"], path);
        openapi_says_what_the_row_says(row, entry);
    }
    let paths = said.openapi["paths"].as_object().expect("paths").values();
    let entries: usize = paths.map(|path| path.as_object().expect("methods").len()).sum();
    assert_eq!(entries, in_openapi, "openapi has operations that are not in the table");
}

fn openapi_says_what_the_row_says(row: &Operation<Forum>, entry: &Value) {
    let responses = entry["responses"].as_object().expect("responses");
    assert!(responses.contains_key(if row.created { "201" } else { "200" }), "{}", row.key);
    let mut told: Vec<&str> = Vec::new();
    for (status, response) in responses.iter().filter(|(status, _)| !status.starts_with('2')) {
        let reasons = &response["content"]["application/json"]["schema"]["allOf"][1]["properties"]
            ["reason"]["enum"];
        for name in names(reasons) {
            let reason = Reason::ALL.into_iter().find(|reason| reason.name() == name);
            assert_eq!(
                reason.expect("a reason").status().to_string(),
                *status,
                "{}: {name}",
                row.key
            );
            told.push(name);
        }
    }
    let mut declared: Vec<&str> = Reason::ALL
        .into_iter()
        // MCP alone gives this one.
        .filter(|reason| row.declares(*reason) && *reason != Reason::TokenRequired)
        .map(Reason::name)
        .collect();
    told.sort_unstable();
    declared.sort_unstable();
    assert_eq!(told, declared, "{}", row.key);
    // Every field of the input stands somewhere: in the path, the query or the body.
    let parameters = entry["parameters"].as_array().expect("parameters");
    for name in row.input["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
        let body =
            &entry["requestBody"]["content"]["application/json"]["schema"]["properties"][name];
        let is_parameter = parameters.iter().any(|parameter| parameter["name"] == *name);
        // The path names the thread; the envelope may repeat it.
        let repeats_the_path = name == "thread" && !row.hints.read_only;
        assert!(is_parameter != body.is_object() || repeats_the_path, "{}.{name}", row.key);
    }
}

#[test]
fn words_limits_and_reasons_are_the_same_everywhere() {
    let world = World::start();
    let said = documents(&world);
    for state in names(&said.manifest["states"]) {
        assert!(said.page.contains(&format!(">{state}</text></g>")), "{state} in the picture");
    }
    for list in ["claim_states", "verdicts", "evidence_kinds", "rights"] {
        let words = names(&said.manifest[list]).join(", ");
        assert!(said.page.contains(&words), "{list} in the page");
        assert!(said.text.contains(&words), "{list} in llms.txt");
    }
    assert!(said.text.contains(&names(&said.manifest["states"]).join(", ")), "states in llms.txt");
    for kind in said.manifest["kinds"].as_array().expect("kinds") {
        let (name, meaning) =
            (kind["kind"].as_str().expect("a name"), kind["meaning"].as_str().expect("a meaning"));
        assert!(
            said.page.contains(&format!("<td><code>{name}</code><td>{meaning}</tr>")),
            "{name}"
        );
        assert!(said.text.contains(&format!("- {name}: {meaning}\n")), "{name}");
    }
    for (name, value) in said.manifest["limits"].as_object().expect("limits") {
        assert!(said.page.contains(&format!("<code>{name}</code><td>{value}</tr>")), "{name}");
        assert!(said.text.contains(&format!("- {name}: {value}\n")), "{name}");
    }
    let reasons = said.manifest["reasons"].as_array().expect("reasons");
    assert_eq!(reasons.len(), Reason::ALL.len());
    for reason in reasons {
        let (name, status) = (reason["reason"].as_str().expect("a name"), &reason["status"]);
        assert!(said.page.contains(&format!("<code>{name}</code><td>{status}<td>")), "{name}");
        assert!(said.text.contains(&format!("- {name} ({status}): ")), "{name}");
    }
    for (name, path) in said.manifest["endpoints"].as_object().expect("endpoints") {
        let path = path.as_str().expect("a path");
        let there = world.send(&format!("OPTIONS {path}"), "", b"").status;
        assert!(name == "api" || there == 204, "{name} at {path}: {there}");
    }
    assert_eq!(world.send("POST /openapi.json", "", b"").status, 405);
}

#[test]
fn the_picture_shows_every_way_and_no_other() {
    let world = World::start();
    let said = documents(&world);
    let ways = transitions();
    let rows = said
        .page
        .split("<table id=\"ways\">")
        .nth(1)
        .and_then(|rest| rest.split("</table>").next());
    let rows = rows.expect("the table of ways").matches("<tr><td>").count();
    assert_eq!(rows, ways.len());
    let mut drawn: Vec<(String, String)> = said
        .page
        .split("data-from=\"")
        .skip(1)
        .map(|rest| {
            let mut parts = rest.split('"');
            let from = parts.next().unwrap_or_default().to_owned();
            (from, parts.nth(1).unwrap_or_default().to_owned())
        })
        .collect();
    let mut known: Vec<(String, String)> = ways
        .iter()
        .filter(|way| way.act != "revert" && way.from != way.to)
        .map(|way| (way.from.name().to_owned(), way.to.name().to_owned()))
        .collect();
    known.sort();
    known.dedup();
    drawn.sort();
    assert_eq!(drawn, known);
    for way in ways {
        let line =
            format!("{} -> {}{}", way.act, way.to.name(), if way.to_proposal { "?" } else { "" });
        assert!(said.text.contains(&line), "{line}");
    }
}

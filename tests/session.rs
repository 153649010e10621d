//! The human's door (section 8): links, passwords, sessions, and what a session may do.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use harness::raw::Raw;
use harness::{World, text};
use serde_json::{Value, json};

const JSON: &str = "Content-Type: application/json\r\n";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// Somebody with a cookie.
struct Browser<'a> {
    world: &'a World,
    cookie: String,
    csrf: String,
}

impl Browser<'_> {
    fn get(&self, path: &str) -> Raw {
        self.world.send(&format!("GET {path}"), &self.cookie, b"")
    }

    fn post(&self, path: &str, body: &Value) -> Raw {
        let headers = format!("{JSON}{}X-CSRF-Token: {}\r\n", self.cookie, self.csrf);
        self.world.send(&format!("POST {path}"), &headers, body.to_string().as_bytes())
    }
}

fn cookie_of(answer: &Raw) -> String {
    let cookie = answer.header("set-cookie").expect("a cookie");
    format!("Cookie: {}\r\n", cookie.split(';').next().expect("its value"))
}

fn login(world: &World, body: &Value) -> Raw {
    world.send("POST /login", JSON, body.to_string().as_bytes())
}

fn signs_in<'a>(world: &'a World, body: &Value) -> Browser<'a> {
    let answer = login(world, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let said = answer.json();
    assert_eq!(said["identity"], "human:operator");
    Browser { world, cookie: cookie_of(&answer), csrf: text(&said["csrf"]) }
}

/// The secret of a fresh link.
fn link(world: &World) -> String {
    let said = world.person("human").post("/operator/link", &json!({})).expect(201);
    text(&said["path"]).strip_prefix("/login?link=").expect("a link").to_owned()
}

fn sets_password(world: &World, password: &str) {
    let set = world.person("human").post("/operator/password", &json!({"password": password}));
    assert_eq!(set.expect(200)["identity"], "human:operator");
}

#[test]
fn a_link_opens_one_session_which_is_the_human_until_it_signs_out() {
    let world = World::start();
    let old = link(&world);
    let secret = link(&world);
    login(&world, &json!({"link": old})).refused("unauthenticated");
    let browser = signs_in(&world, &json!({"link": secret}));
    login(&world, &json!({"link": secret})).refused("unauthenticated");
    // Reading takes the cookie, writing takes the word of the page too.
    let session = browser.get("/api/v1/session").json();
    let expected = json!({
        "identity": "human:operator", "csrf": browser.csrf,
        "rights": ["read", "write", "pin", "lock", "verify", "grant"],
    });
    assert_eq!(session, expected);
    let token = json!({"label": "scout", "rights": []});
    let bare = format!("{JSON}{}", browser.cookie);
    for wrong in ["", "X-CSRF-Token: \r\n", "X-CSRF-Token: 00\r\n"] {
        let sent = world.send("POST /api/v1/tokens", &format!("{bare}{wrong}"), b"{}");
        assert_eq!(sent.status, 403);
        sent.refused("csrf");
    }
    assert_eq!(browser.post("/api/v1/tokens", &token).status, 201);
    // What the human confirms is confirmed.
    let writer = world.person("writer");
    let opened = writer.opens(&json!({"kind": "ask", "body": "?"})).expect(201);
    let thread = text(&opened["thread"]["id"]);
    world.person("other").posts(&thread, &json!({"kind": "answer", "body": "!"})).expect(201);
    let confirmed = browser.post(&format!("/api/v1/threads/{thread}/confirm"), &json!({})).json();
    assert!(confirmed["thread"]["state_confirmed_at"].is_string(), "{confirmed}");
    // MCP is for agents.
    let mcp = world.send("POST /api/v1/mcp", &bare, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(mcp.status, 401, "{}", mcp.text());
    assert!(mcp.text().contains("token_required"), "{}", mcp.text());
    // The session outlives a restart; the link does not come back.
    let (cookie, csrf) = (browser.cookie.clone(), browser.csrf);
    let world = world.restart();
    login(&world, &json!({"link": secret})).refused("unauthenticated");
    let browser = Browser { world: &world, cookie, csrf };
    assert_eq!(browser.get("/api/v1/session").json()["csrf"], browser.csrf);
    let bare = format!("{JSON}{}", browser.cookie);
    world.send("POST /logout", &bare, b"{}").refused("csrf");
    let out = browser.post("/logout", &json!({}));
    assert_eq!(
        (out.status, out.header("set-cookie").expect("a cookie").contains("Max-Age=0")),
        (200, true)
    );
    browser.get("/api/v1/session").refused("unauthenticated");
    assert_eq!(world.send("POST /logout", &bare, b"{}").status, 200);
}

#[test]
fn a_password_opens_too_and_a_new_one_ends_every_session() {
    let world = World::start();
    let sign_in = |password: &str| json!({"name": "operator", "password": password});
    login(&world, &sign_in("correct horse")).refused("unauthenticated");
    sets_password(&world, "correct horse");
    for wrong in [
        sign_in("correct hors"),
        sign_in(""),
        json!({"name": "writer", "password": "correct horse"}),
    ] {
        login(&world, &wrong).refused("unauthenticated");
    }
    for wrong in
        [json!({}), json!({"name": "operator"}), json!({"name": 1, "password": 2}), json!([])]
    {
        login(&world, &wrong).refused("invalid_body");
    }
    world.send("POST /login", JSON, b"{").refused("invalid_json");
    let browser = signs_in(&world, &sign_in("correct horse"));
    signs_in(&world, &json!({"name": "human:operator", "password": "correct horse"}));
    // The operator's key is a password, another's token is none.
    let key = world.person("human").client.token().expect("the key").to_owned();
    signs_in(&world, &sign_in(&key));
    let token = world.person("writer").client.token().expect("a token").to_owned();
    login(&world, &sign_in(&token)).refused("unauthenticated");
    let fresh = link(&world);
    sets_password(&world, "battery staple");
    browser.get("/api/v1/session").refused("unauthenticated");
    login(&world, &json!({"link": fresh})).refused("unauthenticated");
    let world = world.restart();
    login(&world, &sign_in("correct horse")).refused("unauthenticated");
    signs_in(&world, &sign_in("battery staple"));
    let human = world.person("human");
    human
        .post("/operator/password", &json!({"password": "é".repeat(7)}))
        .expect_refused("invalid_body");
    human.post("/operator/password", &json!({"password": "é".repeat(8)})).expect(200);
    human.post("/operator/password", &json!({"password": "🎉".repeat(200)})).expect(200);
    human
        .post("/operator/password", &json!({"password": "🎉".repeat(201)}))
        .expect_refused("invalid_body");
    signs_in(&world, &sign_in(&"🎉".repeat(200)));
}

#[test]
fn the_form_works_without_a_script_and_runs_nothing_that_it_shows() {
    let world = World::start();
    sets_password(&world, "correct horse");
    let page = world.send("GET /login", "", b"");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(page.text().contains("name=\"password\""));
    let hostile = world.send("GET /login?link=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "", b"");
    assert!(!hostile.text().contains("<script>") && hostile.text().contains("&lt;script&gt;"));
    let wrong = world.send("POST /login", FORM, b"name=operator&password=no");
    assert_eq!(
        (wrong.status, wrong.header("content-type")),
        (401, Some("text/html; charset=utf-8"))
    );
    assert!(wrong.text().contains("role=alert"));
    let right = world.send("POST /login", FORM, b"name=operator&password=correct+horse");
    assert_eq!((right.status, right.header("location")), (303, Some("/login")));
    let cookie = right.header("set-cookie").expect("a cookie");
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=604800"] {
        assert!(cookie.contains(part), "{part} in {cookie}");
    }
    assert!(!cookie.contains("Secure"), "over plain HTTP on loopback a browser would drop it");
    let cookie = cookie_of(&right);
    let page = world.send("GET /login", &cookie, b"").text();
    let csrf = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let csrf = csrf.expect("the page knows it");
    let foreign = format!("{FORM}{cookie}Origin: https://evil.example\r\n");
    world.send("POST /logout", &foreign, format!("csrf={csrf}").as_bytes()).refused("csrf");
    let own = format!("{FORM}{cookie}Origin: http://localhost\r\n");
    let out = world.send("POST /logout", &own, format!("csrf={csrf}").as_bytes());
    assert_eq!((out.status, out.header("location")), (303, Some("/login")));
    let foreign = format!("{JSON}Origin: https://evil.example\r\n");
    let body = json!({"name": "operator", "password": "correct horse"}).to_string();
    world.send("POST /login", &foreign, body.as_bytes()).refused("csrf");
    assert_eq!(world.send("PUT /login", "", b"").header("allow"), Some("GET, POST, OPTIONS"));
    assert_eq!(world.send("GET /logout", "", b"").status, 405);
}

#[test]
fn a_session_has_an_allowance_of_its_own_and_guessing_has_the_addresss() {
    let world = World::start_with(|config| config.limits.requests_per_minute = 40);
    let one = signs_in(&world, &json!({"link": link(&world)}));
    let other = signs_in(&world, &json!({"link": link(&world)}));
    let left = |answer: &Raw| {
        let header = answer.header("ratelimit").expect("it tells").to_owned();
        header.split("r=").nth(1).and_then(|rest| rest.split(';').next()?.parse::<u32>().ok())
    };
    assert_eq!(left(&one.get("/api/v1/boards")), Some(39));
    assert_eq!(left(&one.get("/api/v1/boards")), Some(38));
    assert_eq!(left(&other.get("/api/v1/boards")), Some(39));
    let world = World::start_with(|config| config.limits.requests_per_minute_anonymous = 20);
    let guess = json!({"name": "operator", "password": "guess"});
    let answers: Vec<u16> = (0..25).map(|_| login(&world, &guess).status).collect();
    assert_eq!((answers[0], answers[24]), (401, 429), "{answers:?}");
    world.person("writer").get("/boards").expect(200);
}

#[test]
fn behind_a_tls_proxy_the_cookie_is_for_tls_alone() {
    let world = World::start_with(|config| config.server.behind_tls_proxy = true);
    let answer = login(&world, &json!({"link": link(&world)}));
    assert!(answer.header("set-cookie").expect("a cookie").contains("; Secure"));
}

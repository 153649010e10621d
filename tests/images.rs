//! Images over HTTP: what is taken, what is refused, and how they are given out again.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use harness::raw::Raw;
use harness::{Person, World, text};
use serde_json::json;

const LIMIT: usize = 5 * 1024 * 1024;

fn send(world: &World, person: &Person, line: &str, kind: &str, body: &[u8]) -> Raw {
    let token = person.client.token().map(|token| format!("Authorization: Bearer {token}\r\n"));
    world.send(line, &format!("Content-Type: {kind}\r\n{}", token.unwrap_or_default()), body)
}

fn uploads(world: &World, person: &Person, message: &str, kind: &str, body: &[u8]) -> Raw {
    send(world, person, &format!("POST /api/v1/messages/{message}/image"), kind, body)
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend_from_slice(&width.to_be_bytes());
    png.extend_from_slice(&height.to_be_bytes());
    png.extend_from_slice(b"\x08\x06\0\0\0rest");
    png
}

fn gif() -> Vec<u8> {
    b"GIF89a\x03\0\x04\0\0\0\0;".to_vec()
}

fn webp() -> Vec<u8> {
    let mut webp = b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".to_vec();
    webp.extend_from_slice(&[6, 0, 0, 7, 0, 0]);
    webp
}

fn jpeg() -> Vec<u8> {
    let mut jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0".to_vec();
    jpeg.extend_from_slice(
        b"\xff\xc0\0\x11\x08\0\x05\0\x06\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xd9",
    );
    jpeg
}

/// A form with these fields, and its type.
fn form(fields: &[(&str, &[u8])]) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    for (name, bytes) in fields {
        let head = format!(
            "--bound\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"x.html\"\r\nContent-Type: text/html\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--bound--\r\n");
    ("multipart/form-data; boundary=bound".to_owned(), body)
}

/// A message of somebody in a thread of its own.
fn message(person: &Person) -> String {
    text(&person.opens(&json!({"kind": "ask", "body": "?"})).expect(201)["message"]["id"])
}

#[test]
fn an_image_is_what_its_content_says_and_comes_back_whole_after_a_restart() {
    let world = World::start();
    let writer = world.person("writer");
    let mut given = Vec::new();
    for (bytes, media_type, width, height) in [
        (png(640, 480), "image/png", 640, 480),
        (gif(), "image/gif", 3, 4),
        (webp(), "image/webp", 7, 8),
        (jpeg(), "image/jpeg", 6, 5),
    ] {
        // Once as it is, under a wrong name, and once in a form, under a wrong name.
        let (kind, body) = form(&[("image", &bytes)]);
        for (kind, body) in [("text/html", &bytes), (&*kind, &body)] {
            let id = message(writer);
            let got = uploads(&world, writer, &id, kind, body);
            let answer = got.json();
            assert_eq!(got.status, 201, "{media_type} {kind}: {answer}");
            let image = &answer["image"];
            let expected = json!({"id": image["id"], "type": media_type, "bytes": bytes.len(), "width": width, "height": height});
            assert_eq!((image, answer["inbox"].is_object()), (&expected, true));
            given.push((id, text(&image["id"]), media_type, bytes.clone()));
        }
    }
    let world = world.restart();
    let reader = world.person("reader");
    for (message, image, media_type, bytes) in &given {
        let got = send(&world, reader, &format!("GET /api/v1/images/{image}"), "", b"");
        assert_eq!((got.status, &got.body), (200, bytes));
        for header in [
            &format!("content-type: {media_type}"),
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'; sandbox",
            "content-disposition: inline; filename=\"img_",
            "cache-control: private, max-age=31536000, immutable",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(got.head.contains(header), "{header} in {}", got.head);
        }
        let threads = reader.get("/threads?limit=100").expect(200);
        let shown = threads["items"].as_array().expect("threads").iter().any(|thread| {
            let (_, messages) = reader.reads(&text(&thread["id"]));
            messages.iter().any(|said| said["id"] == **message && said["image"] == **image)
        });
        assert!(shown, "{message} shows {image}");
    }
    let number = given[0].1.trim_start_matches("img_");
    assert_eq!(send(&world, reader, &format!("GET /api/v1/images/{number}"), "", b"").status, 200);
    send(&world, world.person("nobody"), "GET /api/v1/images/img_1", "", b"")
        .refused("unauthenticated");
    send(&world, reader, "GET /api/v1/images/img_999", "", b"").refused("not_found");
    send(&world, reader, "GET /api/v1/images/x", "", b"").refused("invalid_body");
    let deleted = send(&world, reader, "DELETE /api/v1/images/img_1", "", b"");
    assert_eq!(deleted.status, 405);
}

#[test]
fn what_is_no_image_is_refused_and_nothing_is_kept() {
    let world = World::start();
    let (writer, other) = (world.person("writer"), world.person("other"));
    let id = message(writer);
    let raw = |person: &Person, message: &str, body: &[u8]| {
        uploads(&world, person, message, "image/png", body)
    };
    raw(writer, &id, b"").refused("image_missing");
    for body in
        [&b"<svg/>"[..], b"BM", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"{}", b"\xff\xd8\xff", &png(0, 5)]
    {
        raw(writer, &id, body).refused("image_type");
    }
    let (kind, body) = form(&[("other", b"x"), ("image", &gif())]);
    uploads(&world, writer, &id, &kind, &body).refused("invalid_body");
    for fields in [&[("image", &b""[..])][..], &[]] {
        let (kind, body) = form(fields);
        uploads(&world, writer, &id, &kind, &body).refused("image_missing");
    }
    let (kind, body) = form(&[("image", &gif()), ("image", &gif())]);
    uploads(&world, writer, &id, &kind, &body).refused("invalid_body");
    uploads(&world, writer, &id, &kind, &body[..60]).refused("invalid_body");
    uploads(&world, writer, &id, "multipart/form-data", &body).refused("invalid_body");
    // Who, where and whether: the same order as everywhere.
    raw(world.person("nobody"), &id, &gif()).refused("unauthenticated");
    raw(world.person("reader"), &id, &gif()).refused("token_read_only");
    raw(other, &id, &gif()).refused("forbidden");
    raw(writer, "msg_999999", &gif()).refused("not_found");
    raw(writer, "12x", &gif()).refused("invalid_body");
    let with_url = json!({"kind": "ask", "body": "?", "url": "https://example.org/"});
    let with_url = text(&writer.opens(&with_url).expect(201)["message"]["id"]);
    raw(writer, &with_url, &gif()).refused("conflict");
    let opened = writer.opens(&json!({"kind": "ask", "body": "?"})).expect(201);
    world.person("human").closes(&text(&opened["thread"]["id"])).expect(200);
    raw(writer, &text(&opened["message"]["id"]), &gif()).refused("thread_closed");
    send(&world, writer, "GET /api/v1/images/1", "", b"").refused("not_found");
    // The first image stays the only one.
    assert_eq!(raw(writer, &id, &gif()).status, 201);
    raw(writer, &id, &gif()).refused("conflict");
    let mcp = writer.calls(
        parley::client::Era::Stateless,
        "call_api_operation",
        &json!({"key": "get_images_id", "arguments": {"id": 1}}),
    );
    mcp.expect_refused("invalid_body");
}

#[test]
fn five_mebibytes_are_taken_and_one_byte_more_is_not() {
    let world = World::start();
    let writer = world.person("writer");
    let id = message(writer);
    let mut bytes = png(9, 9);
    bytes.resize(LIMIT + 1, 7);
    uploads(&world, writer, &id, "image/png", &bytes).refused("image_too_large");
    let (kind, body) = form(&[("image", &bytes)]);
    uploads(&world, writer, &id, &kind, &body).refused("image_too_large");
    bytes.truncate(LIMIT);
    let (kind, body) = form(&[("image", &bytes)]);
    let answer = uploads(&world, writer, &id, &kind, &body);
    assert_eq!(answer.status, 201);
    let image = text(&answer.json()["image"]["id"]);
    let got = send(&world, writer, &format!("GET /api/v1/images/{image}"), "", b"");
    assert!(got.body == bytes, "all of it comes back");
    // Other requests keep their own bound.
    let large = vec![b' '; 64 * 1024 + 1];
    send(&world, writer, "POST /api/v1/boards", "application/json", &large)
        .refused("payload_too_large");
}

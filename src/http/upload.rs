//! A file in a request: the body itself, or a field of a multipart form.

use std::convert::Infallible;
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::web::{Bytes, Payload};
use futures_util::stream;
use multer::Multipart;
use parley_language::limits::{IMAGE_BYTES, REQUEST_BYTES};
use parley_language::reason::{Details, Reason, Refusal};

use super::body::{Bound, read_within};

/// How long a file may take to arrive.
const PATIENCE: Duration = Duration::from_secs(120);

/// Reads a file; empty when there is none.
///
/// # Errors
/// `image_too_large` over 5 MiB; `invalid_body` for a form that breaks off or holds the field twice; `invalid_json` for
/// a body that breaks off.
pub(super) async fn read(
    request: &HttpRequest,
    payload: Payload,
    field: &'static str,
) -> Result<Bytes, Refusal> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_form = kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("multipart/"));
    // A form has boundaries and perhaps other fields around the file.
    let bytes = if is_form { IMAGE_BYTES + REQUEST_BYTES } else { IMAGE_BYTES };
    let bound = Bound { bytes, patience: PATIENCE, refusal: too_large };
    let body = read_within(bound, request, payload).await?;
    if !is_form {
        return Ok(body);
    }
    let boundary = multer::parse_boundary(kind.unwrap_or_default());
    in_form(&boundary.map_err(|error| no_form(&error))?, body, field).await
}

async fn in_form(boundary: &str, body: Bytes, name: &'static str) -> Result<Bytes, Refusal> {
    let whole = stream::once(async { Ok::<_, Infallible>(body) });
    let mut form = Multipart::new(whole, boundary);
    let mut found = None;
    while let Some(field) = form.next_field().await.map_err(|error| no_form(&error))? {
        if field.name() != Some(name) {
            let error = format!("the form has a field that is not `{name}`; send only that");
            return Err(Refusal::field(field.name().unwrap_or_default(), "unknown_field", error));
        }
        if found.is_some() {
            let error = format!("the form has the field `{name}` twice; send it once");
            return Err(Refusal::field(name, "duplicate", error));
        }
        found = Some(field.bytes().await.map_err(|error| no_form(&error))?);
    }
    let found = found.unwrap_or_default();
    if found.len() > IMAGE_BYTES {
        return Err(too_large(Some(found.len() as u64)));
    }
    Ok(found)
}

fn no_form(error: &dyn std::fmt::Display) -> Refusal {
    let error = format!("this is no whole multipart form: {error}");
    Refusal::new(Reason::InvalidBody, error)
        .with(Details { rule: Some("multipart".into()), ..Details::default() })
}

fn too_large(actual: Option<u64>) -> Refusal {
    let limit = IMAGE_BYTES as u64;
    Refusal::new(Reason::ImageTooLarge, format!("the image is over {limit} bytes; shrink it"))
        .with(Details { limit: Some(limit), actual, ..Details::default() })
}

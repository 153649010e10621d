//! A file in a request: the body itself, or a field of a multipart form.

use std::time::Duration;

use actix_multipart::Multipart;
use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Bytes, BytesMut, Payload};
use futures_util::{StreamExt as _, stream};
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
    let is_form = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().to_ascii_lowercase().starts_with(b"multipart/"));
    // A form has boundaries and perhaps other fields around the file.
    let bytes = if is_form { IMAGE_BYTES + REQUEST_BYTES } else { IMAGE_BYTES };
    let bound = Bound { bytes, patience: PATIENCE, refusal: too_large };
    let body = read_within(bound, request, payload).await?;
    if is_form { in_form(request.headers(), body, field).await } else { Ok(body) }
}

async fn in_form(headers: &HeaderMap, body: Bytes, name: &'static str) -> Result<Bytes, Refusal> {
    let whole = stream::once(async { Ok::<_, PayloadError>(body) });
    let mut form = Multipart::new(headers, whole);
    let mut found: Option<BytesMut> = None;
    while let Some(field) = form.next().await {
        let mut field = field.map_err(|error| no_form(&error))?;
        let wanted = field.name() == Some(name);
        if wanted && found.is_some() {
            let error = format!("the form has the field `{name}` twice; send it once");
            return Err(Refusal::field(name, "duplicate", error));
        }
        let mut bytes = BytesMut::new();
        while let Some(piece) = field.next().await {
            bytes.extend_from_slice(&piece.map_err(|error| no_form(&error))?);
        }
        if wanted {
            found = Some(bytes);
        }
    }
    let found = found.unwrap_or_default();
    if found.len() > IMAGE_BYTES {
        return Err(too_large(Some(found.len() as u64)));
    }
    Ok(found.freeze())
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

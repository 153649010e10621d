//! The documents (section 10): `/openapi.json`, `/parley.html`, `/llms.txt`. All three are readings of the table and of
//! the language's own tables, made once at the start, so they cannot disagree with what is served.

mod openapi;
mod page;
mod picture;
mod text;

use actix_web::http::{Method, StatusCode, header};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};

use parley_language::transition::transitions;

use crate::forum::Forum;
use crate::http::Admitted;
use crate::operations::manifest::manifest;
use crate::surface::Surface;

pub(crate) use openapi::openapi;

/// Where they stand, by the name that the manifest gives them.
pub const PLACES: [(&str, &str); 3] =
    [("openapi", "/openapi.json"), ("protocol", "/parley.html"), ("llms", "/llms.txt")];

/// The documents of one server.
#[derive(Clone)]
pub struct Documents([Document; 3]);

#[derive(Clone)]
struct Document {
    media_type: &'static str,
    body: Bytes,
}

impl Documents {
    /// Writes them.
    pub fn new(surface: &Surface<Forum>) -> Self {
        let table = &*surface.table;
        let manifest = manifest(surface.state(), table);
        let manifest = serde_json::to_value(manifest).unwrap_or_default();
        let ways = transitions();
        let document = |media_type, text: String| Document { media_type, body: text.into() };
        Self([
            document("application/json", openapi(table).to_string()),
            document("text/html; charset=utf-8", page::page(table, &manifest, &ways)),
            document("text/plain; charset=utf-8", text::text(table, &manifest, &ways)),
        ])
    }
}

/// Adds the routes.
pub fn configure(config: &mut web::ServiceConfig, surface: &Surface<Forum>, documents: &Documents) {
    for ((_, path), document) in PLACES.into_iter().zip(&documents.0) {
        let (surface, document) = (surface.clone(), document.clone());
        config.service(web::resource(path).to(move |request: HttpRequest| {
            let answer = answer(&surface, &request, &document);
            std::future::ready(answer)
        }));
    }
}

fn answer(surface: &Surface<Forum>, request: &HttpRequest, document: &Document) -> HttpResponse {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return surface.only(request, &[Method::GET]);
    }
    let mut response = match surface.admit(request) {
        Err(turned) => return surface.refuse(&turned.refusal, &turned.standing),
        Ok(Admitted { standing, .. }) => surface.accept(StatusCode::OK, Vec::new(), &standing),
    };
    response = response.set_body(actix_web::body::BoxBody::new(document.body.clone()));
    let headers = response.headers_mut();
    let header = header::HeaderValue::from_static;
    headers.insert(header::CONTENT_TYPE, header(document.media_type));
    headers.insert(header::CACHE_CONTROL, header("public, max-age=300"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header("nosniff"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        header("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"),
    );
    surface.share(request, &mut response);
    response
}

//! HTTP: one reading of the table, and the one place where requests come in.
//!
//! Finds the row, says who calls, counts, and joins the request to one object; what happens then is `operation.rs`.
//! Everything here is an App's default service, so routes that are no operations (pages, streams, images) stand beside
//! it and use [`Surface::admit`].

mod answer;
mod body;
mod identity;
mod join;
mod origin;
pub(crate) mod router;
mod upload;

use actix_web::http::{ConnectionType, Method, StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use parley_language::reason::{Reason, Refusal};

pub(crate) use answer::{draining, empty, json, method_not_allowed, refusal_json, retry_after};
pub(crate) use body::read;
pub use identity::{Admitted, Turned};
pub(crate) use identity::{Credential, credential, session_id};
pub(crate) use join::pairs;
pub(crate) use origin::{EXPOSED, preflight};

use crate::caller::{Caller, Doorkeeper};
use crate::mcp;
use crate::operation::{Answer, Operation, Takes};
use crate::rate::Standing;
use crate::shape::Manner;
use crate::surface::Surface;
use router::Route;

/// Where the API stands.
pub const PREFIX: &str = "/api/v1";

/// Makes the surface the default service of an App: everything that no other route took.
pub fn configure<S: Doorkeeper>(config: &mut web::ServiceConfig, surface: &Surface<S>) {
    let surface = surface.clone();
    config.default_service(web::to(move |request: HttpRequest, payload: web::Payload| {
        let surface = surface.clone();
        async move {
            let _inside = surface.enter_house();
            surface.serve(request, payload).await
        }
    }));
}

impl<S: Doorkeeper> Surface<S> {
    async fn serve(&self, request: HttpRequest, payload: web::Payload) -> HttpResponse {
        let Some(path) = api_path(request.uri().path()) else {
            return self.nothing_there(&request);
        };
        if matches!(path, "/mcp" | "/mcp/") {
            return mcp::serve(self, &request, payload).await;
        }
        let mut response = if request.method() == Method::OPTIONS {
            preflight(self, &request, path)
        } else {
            self.operate(&request, path, payload).await
        };
        self.share(&request, &mut response);
        response
    }

    /// Identity, rate, then the row; in it the right, the shape and the handler.
    async fn operate(
        &self,
        request: &HttpRequest,
        path: &str,
        payload: web::Payload,
    ) -> HttpResponse {
        let route = self.router.route(request.method(), path);
        let row = match &route {
            Route::Found(at, _) => Some(self.table.at(*at)),
            Route::Method(_) | Route::Nowhere => None,
        };
        let metered = row.is_none_or(|row| row.metered);
        let Admitted { caller, standing } = match self.enter(request, metered) {
            Ok(admitted) => admitted,
            Err(turned) => return self.refuse(&turned.refusal, &turned.standing),
        };
        let refused = |refusal: &Refusal| self.refuse(refusal, &standing);
        let (row, params) = match (row, route) {
            (Some(row), Route::Found(_, params)) => (row, params),
            (_, Route::Method(allow)) => return method_not_allowed(allow, &standing),
            _ => return refused(&answer::unknown_endpoint(request.uri().path())),
        };
        if metered && self.is_draining() {
            return refused(&draining());
        }
        // The right is asked before the body is read, and again at the door, where it belongs.
        let said = match row.needs.admit(&caller) {
            Ok(()) => self.said(row, request, &params, caller, payload).await,
            Err(refusal) => Err(refusal),
        };
        let status = if row.created { StatusCode::CREATED } else { StatusCode::OK };
        match said {
            Ok(Answer::Json(bytes)) => json(status, bytes, &standing),
            Ok(Answer::File(file)) => answer::file(file, &standing),
            Err(refusal) => refused(&refusal),
        }
    }

    async fn said(
        &self,
        row: &Operation<S>,
        request: &HttpRequest,
        params: &matchit::Params<'_, '_>,
        caller: Caller,
        payload: web::Payload,
    ) -> Result<Answer, Refusal> {
        let (body, file) = match row.takes {
            Takes::Json => (read(request, payload).await?, web::Bytes::new()),
            Takes::File(field) => (web::Bytes::new(), upload::read(request, payload, field).await?),
        };
        let query = request.uri().query().unwrap_or_default();
        let input =
            join::join(row.shape(), params, query, row.hints.read_only, &body, request.headers())?;
        row.run(self.state.clone(), caller, input, Manner::Strict, file).await
    }

    /// Identity and rate, for a route that is no operation.
    ///
    /// # Errors
    /// Who is turned away: a credential that opens nothing, a session's write without its CSRF token, an allowance
    /// that is used up, a server that goes down. [`Surface::refuse`] makes the answer.
    pub fn admit(&self, request: &HttpRequest) -> Result<Admitted, Turned> {
        let admitted = self.enter(request, true)?;
        if self.is_draining() {
            return Err(Turned { refusal: draining(), standing: admitted.standing });
        }
        Ok(admitted)
    }

    /// A refusal as an answer.
    pub fn refuse(&self, refusal: &Refusal, standing: &Standing) -> HttpResponse {
        let mut response = answer::refusal(refusal, standing, &self.challenge);
        if refusal.reason == Reason::Unavailable && self.is_draining() {
            response.head_mut().set_connection_type(ConnectionType::Close);
        }
        response
    }

    /// A success as an answer, for a route that is no operation but answers JSON.
    pub fn accept(&self, status: StatusCode, body: Vec<u8>, standing: &Standing) -> HttpResponse {
        json(status, body, standing)
    }

    /// What a route that is no operation says to other methods than its own, and to a browser that asks beforehand.
    pub fn only(&self, request: &HttpRequest, methods: &[Method]) -> HttpResponse {
        let standing = self.state.anonymous(self.address(request)).note();
        let mut names: Vec<&str> = methods.iter().map(Method::as_str).collect();
        names.push("OPTIONS");
        let allow = header::HeaderValue::from_maybe_shared(web::Bytes::from(names.join(", ")));
        let allow = allow.expect("methods are ASCII");
        let mut response = if request.method() == Method::OPTIONS {
            origin::permit(self, request, allow, &standing)
        } else {
            method_not_allowed(&allow, &standing)
        };
        self.share(request, &mut response);
        response
    }

    /// Lets pages of allowed origins read an answer.
    pub fn share(&self, request: &HttpRequest, response: &mut HttpResponse) {
        if let Some(origin) = request.headers().get(header::ORIGIN) {
            origin::share(self, origin, response);
        }
    }

    /// 404 outside the API, for whoever asks: OAuth discovery above all, which must find nothing and no question.
    fn nothing_there(&self, request: &HttpRequest) -> HttpResponse {
        let standing = self.state.anonymous(self.address(request)).note();
        self.refuse(&answer::unknown_endpoint(request.uri().path()), &standing)
    }
}

fn api_path(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX).filter(|rest| rest.starts_with('/'))
}

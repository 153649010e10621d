//! From path and method to the row of the table.

use std::collections::BTreeMap;

use actix_web::http::Method;
use actix_web::http::header::HeaderValue;
use actix_web::web::Bytes;

use crate::operation::{Reach, Table};

/// The routes of a table.
pub(crate) struct Router {
    paths: matchit::Router<usize>,
    endpoints: Vec<Endpoint>,
}

/// One path and what can be done there.
struct Endpoint {
    methods: Vec<(Method, usize)>,
    allow: HeaderValue,
}

/// What a path and a method lead to.
pub(crate) enum Route<'r, 'p> {
    /// To a row of the table, with the texts of the path's parameters.
    Found(usize, matchit::Params<'r, 'p>),
    /// Nowhere with this method; these are allowed.
    Method(&'r HeaderValue),
    /// Nowhere.
    Nowhere,
}

impl Router {
    /// The routes of this table.
    ///
    /// # Panics
    /// When two rows have the same method and path, or a path is not well formed: a mistake in the table.
    pub(crate) fn new<S: Clone + Send + 'static>(table: &Table<S>) -> Self {
        let mut by_path: BTreeMap<&str, Vec<(Method, usize)>> = BTreeMap::new();
        for (at, row) in table.rows().iter().enumerate().filter(|(_, row)| row.reach != Reach::Mcp)
        {
            let methods = by_path.entry(row.path).or_default();
            assert!(
                methods.iter().all(|(method, _)| *method != row.method),
                "{} has a double",
                row.key
            );
            methods.push((row.method.clone(), at));
        }
        let mut router = Self { paths: matchit::Router::new(), endpoints: Vec::new() };
        for (path, methods) in by_path {
            let added = router.paths.insert(path, router.endpoints.len());
            assert!(added.is_ok(), "the path {path} is not well formed: {added:?}");
            let mut names: Vec<&str> = methods.iter().map(|(method, _)| method.as_str()).collect();
            if names.contains(&"GET") {
                names.push("HEAD");
            }
            names.push("OPTIONS");
            let allow = HeaderValue::from_maybe_shared(Bytes::from(names.join(", ")))
                .expect("methods are ASCII");
            router.endpoints.push(Endpoint { methods, allow });
        }
        router
    }

    /// Where a path leads.
    pub(crate) fn route<'r, 'p>(&'r self, method: &Method, path: &'p str) -> Route<'r, 'p> {
        let Ok(found) = self.paths.at(path) else { return Route::Nowhere };
        let endpoint = &self.endpoints[*found.value];
        // HEAD is GET whose body is not sent.
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        match endpoint.methods.iter().find(|(other, _)| other == method) {
            Some((_, at)) => Route::Found(*at, found.params),
            None => Route::Method(&endpoint.allow),
        }
    }
}

//! All operations.

use std::collections::HashMap;
use std::sync::Arc;

use super::Operation;
use crate::operations::catalogue::Catalogue;

/// All operations, by key.
pub struct Table<S> {
    rows: Vec<Operation<S>>,
    keys: HashMap<&'static str, usize>,
}

impl<S: Clone + Send + 'static> Table<S> {
    /// The table with these rows. They are made with the [`Catalogue`], whose operations read the table itself.
    ///
    /// # Panics
    /// When two rows have the same key.
    pub fn new(rows: impl FnOnce(&Catalogue<S>) -> Vec<Operation<S>>) -> Arc<Self> {
        Arc::new_cyclic(|table| {
            let rows = rows(&Catalogue::new(table.clone()));
            let keys: HashMap<_, _> =
                rows.iter().enumerate().map(|(at, row)| (row.key, at)).collect();
            assert_eq!(keys.len(), rows.len(), "two operations have the same key");
            Self { rows, keys }
        })
    }

    /// The operation of this key.
    pub fn get(&self, key: &str) -> Option<&Operation<S>> {
        self.keys.get(key).map(|at| &self.rows[*at])
    }

    /// The operation at this place.
    pub(crate) fn at(&self, at: usize) -> &Operation<S> {
        &self.rows[at]
    }

    /// All of them, in the order of the table.
    pub fn rows(&self) -> &[Operation<S>] {
        &self.rows
    }
}

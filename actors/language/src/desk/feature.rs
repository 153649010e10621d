//! Feature requests: what somebody misses, and what was said to it.

use alloc::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::author::Author;
use crate::id::FeatureId;
use crate::time::Time;

/// Where a feature request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FeatureState {
    /// Nobody has answered it. The contract names no word for it.
    Open,
    /// It will come.
    Accepted,
    /// It will not.
    Rejected,
    /// It is there.
    Done,
}

/// What a feature request can be marked as. Every mark may be changed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FeatureMark {
    /// It will come.
    Accepted,
    /// It will not.
    Rejected,
    /// It is there.
    Done,
}

/// A feature request as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Its id.
    pub id: FeatureId,
    /// Who asked.
    pub author: Author,
    /// What for, in a line.
    pub title: Arc<str>,
    /// What for.
    pub body: Arc<str>,
    /// Where it stands.
    pub status: FeatureState,
    /// What was said to it.
    pub note: Option<Arc<str>>,
    /// Who marked it last.
    pub marked_by: Option<Arc<str>>,
    /// When it was asked.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// A mark, as it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marked {
    /// On which request.
    pub id: FeatureId,
    /// What it says.
    pub mark: FeatureMark,
    /// What was said to it.
    pub note: Option<Arc<str>>,
    /// By whom.
    pub by: Arc<str>,
    /// When.
    pub at: Time,
}

impl Feature {
    pub(super) fn settle(&mut self, marked: &Marked) {
        self.status = match marked.mark {
            FeatureMark::Accepted => FeatureState::Accepted,
            FeatureMark::Rejected => FeatureState::Rejected,
            FeatureMark::Done => FeatureState::Done,
        };
        self.note.clone_from(&marked.note);
        self.marked_by = Some(marked.by.clone());
        self.updated_at = marked.at;
    }
}

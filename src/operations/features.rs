//! Feature requests: what agents miss here, and what the operator says to it.

use parley_language::desk::{Feature, FeatureMark, FeatureState};
use parley_language::envelope::From as Sender;
use parley_language::id::FeatureId;
use parley_language::{Refusal, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Paging;
use crate::caller::Caller;
use crate::forum::Forum;
use crate::wire::{FeatureObject, Page};

/// Ask the operator for something that you miss in this forum.
#[derive(Deserialize, JsonSchema)]
pub struct PostFeature {
    /// What for, in a line.
    #[schemars(length(min = 1, max = limits::FEATURE_TITLE), extend("x-is" = "shown"))]
    pub title: String,
    /// What for, and what it would change.
    #[schemars(length(min = 1, max = limits::FEATURE_BODY), extend("x-is" = "shown"))]
    pub body: String,
    /// The sub-line that asks.
    #[serde(default)]
    pub from: Option<Sender>,
}

/// Feature requests, oldest first: your own, or all of them if you hold `grant`.
#[derive(Deserialize, JsonSchema)]
pub struct GetFeatures {
    /// Only those that stand so.
    #[serde(default)]
    pub status: Option<FeatureState>,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Mark a feature request. A later mark replaces it.
#[derive(Deserialize, JsonSchema)]
pub struct MarkFeature {
    /// The feature request, like `ft_3`.
    pub id: FeatureId,
    /// As what.
    pub status: FeatureMark,
    /// What you say to it; whoever asked reads it.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::REMARK), extend("x-is" = "shown"))]
    pub note: Option<String>,
}

/// A feature request, named.
#[derive(Serialize, JsonSchema)]
pub struct NamedFeature {
    /// The feature request.
    pub feature: FeatureObject,
}

/// Asks for a feature.
///
/// # Errors
/// `unavailable`, `internal`.
pub async fn ask(
    forum: Forum,
    caller: Caller,
    input: PostFeature,
) -> Result<NamedFeature, Refusal> {
    let extension = input.from.and_then(|from| from.extension);
    let by = caller.author(extension.as_deref());
    let feature = forum.registry().ask_feature(by, input.title, input.body).await?;
    Ok(NamedFeature { feature: FeatureObject::from(&feature) })
}

/// The feature requests that the caller may see.
///
/// # Errors
/// `invalid_body` for a cursor of another list.
pub async fn list(
    forum: Forum,
    caller: Caller,
    input: GetFeatures,
) -> Result<Page<FeatureObject>, Refusal> {
    let shelves = forum.registry().shelves();
    let all = caller.reviews();
    let wanted = |feature: &Feature| {
        input.status.is_none_or(|status| status == feature.status)
            && (all || caller.line() == Some(&feature.author.line))
    };
    let numbers = 1..=shelves.features_len();
    let (items, next_cursor) = input.paging.pick(numbers, |number| {
        let feature = shelves.feature(FeatureId::new(number))?;
        wanted(&feature).then(|| FeatureObject::from(&*feature))
    })?;
    Ok(Page { items, next_cursor })
}

/// Marks a feature request.
///
/// # Errors
/// `not_found`.
pub async fn mark(
    forum: Forum,
    caller: Caller,
    input: MarkFeature,
) -> Result<NamedFeature, Refusal> {
    let by = caller.speaker(None);
    let feature = forum.registry().mark_feature(input.id, by, input.status, input.note).await?;
    Ok(NamedFeature { feature: FeatureObject::from(&*feature) })
}

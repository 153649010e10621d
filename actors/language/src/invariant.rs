//! What must always hold of a thread, as functions: the simulator checks them after every tick, production after
//! every apply in debug builds. The numbers are those of the simulator's properties.

use alloc::format;
use alloc::string::String;

use crate::author::Author;
use crate::event::{Event, Fact, Mark};
use crate::id::{MessageId, ThreadId};
use crate::thread::{Due, Summary, Thread};
use crate::words::{Origin, State};

/// P-2: nothing follows a confirmed close but a reopen or the human's word on AI replies: no message, mark, pin,
/// attestation, seal, effect of another thread or image.
///
/// # Errors
/// Says which event.
pub fn nothing_after_a_confirmed_close(log: &[Event]) -> Result<(), String> {
    let mut locked = false;
    for (at, event) in log.iter().enumerate() {
        match (&event.fact, event.fact.mark()) {
            (Fact::LlmReply { .. }, _) => {}
            (Fact::Marked { .. }, Some(mark)) if mark.to.state == State::Open => {}
            (fact, _) if locked => {
                return Err(format!("event {at} changes a locked thread: {fact:?}"));
            }
            _ => {}
        }
        locked = event.fact.mark().map_or(locked, |mark| mark.to.locked);
    }
    Ok(())
}

/// P-4: the live state equals the replay of the log.
///
/// # Errors
/// Says that they differ.
pub fn live_equals_replay(id: ThreadId, live: &Thread, log: &[Event]) -> Result<(), String> {
    if Thread::replay(id, log).as_ref() == Some(live) {
        Ok(())
    } else {
        Err(format!("{id} is not the replay of its log"))
    }
}

/// P-7: exactly one is due while something is owed, nobody otherwise; and nothing is owed where nobody can answer.
///
/// # Errors
/// Says what is wrong.
pub fn one_is_due(summary: &Summary) -> Result<(), String> {
    let owed = !summary.open_acts.is_empty();
    if owed == matches!(summary.due(), Due::Nobody) {
        return Err(format!("{}: owed is {owed}, due is {:?}", summary.id, summary.due()));
    }
    if !summary.standing.state.is_live() && (owed || summary.awaiting) {
        return Err(format!("{}: owes in state {}", summary.id, summary.standing.state.name()));
    }
    if summary.open_acts.iter().any(|open| open.due.as_ref() == Some(&open.by.line)) {
        return Err(format!("{}: an author is due to itself", summary.id));
    }
    Ok(())
}

/// P-8: no state moves backward except by reopen or revert, and side states are left only so.
///
/// # Errors
/// Says which event.
pub fn forward_only(log: &[Event]) -> Result<(), String> {
    const MAIN: [State; 4] = [State::Open, State::Answered, State::Decided, State::Closed];
    let rank = |state: State| MAIN.iter().position(|main| *main == state);
    for (at, event) in log.iter().enumerate() {
        let said = event.fact.said().is_some();
        let back = |mark: &&Mark| said || (mark.to.state != State::Open && !mark.reverted);
        let Some(mark) = event.fact.mark().filter(back) else { continue };
        let forward = match (rank(mark.from), rank(mark.to.state)) {
            (Some(from), Some(to)) => from <= to,
            (Some(_), None) => true,
            (None, to) => to.is_none() && mark.from == mark.to.state,
        };
        if !forward {
            return Err(format!(
                "event {at} moves {} to {}",
                mark.from.name(),
                mark.to.state.name()
            ));
        }
    }
    Ok(())
}

/// P-9: a token's author never answers its own message.
///
/// # Errors
/// Says which event.
pub fn nobody_answers_itself(log: &[Event]) -> Result<(), String> {
    let author_of = |id: MessageId| -> Option<&Author> {
        log.iter()
            .find(|event| event.fact.said().is_some_and(|said| said.message.id == id))
            .map(|event| &event.by)
    };
    for (at, event) in log.iter().enumerate() {
        if let Some(answers) = event.fact.said().and_then(|said| said.answers)
            && event.by.origin == Origin::Llm
            && author_of(answers) == Some(&event.by)
        {
            return Err(format!("event {at} answers its own author"));
        }
    }
    Ok(())
}

/// The one rule: a mark is confirmed exactly when a confirmer made it, and only a confirmed close locks.
///
/// # Errors
/// Says what is wrong.
pub fn only_a_confirmed_close_locks(summary: &Summary) -> Result<(), String> {
    let standing = &summary.standing;
    let confirmed_close = standing.state == State::Closed && standing.confirmed_at.is_some();
    if standing.locked == confirmed_close {
        Ok(())
    } else {
        Err(format!("{}: locked is {}", summary.id, standing.locked))
    }
}

//! The state machine as a table, found by asking [`Thread::decide`]: what is drawn and written about it cannot disagree
//! with what is done.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use crate::author::{Author, Rights, Speaker};
use crate::envelope::Draft;
use crate::id::ThreadId;
use crate::thread::{Act, Fresh, SideState, Thread};
use crate::time::Time;
use crate::words::{Kind, Origin, Right, State};

/// Who acts, as far as the state machine can tell people apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A token with `write` that did not open the thread.
    Anybody,
    /// The token that opened the thread.
    Creator,
    /// The human, or a token with `lock`.
    Confirmer,
}

impl Role {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Anybody, Self::Creator, Self::Confirmer];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anybody => "anybody",
            Self::Creator => "creator",
            Self::Confirmer => "confirmer",
        }
    }

    fn speaker(self) -> Speaker {
        let (line, origin) = match self {
            Self::Anybody => ("parley:other", Origin::Llm),
            Self::Creator => ("parley:creator", Origin::Llm),
            Self::Confirmer => ("human:operator", Origin::User),
        };
        speaker(line, origin)
    }
}

/// One way from a state to a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// Where the thread stands before.
    pub from: State,
    /// Whether that is a proposal.
    pub from_proposal: bool,
    /// Who acts.
    pub by: Role,
    /// What is done, in the word of the operation or the kind of the message.
    pub act: &'static str,
    /// Where the thread stands after.
    pub to: State,
    /// Whether that is a proposal, which a confirmer still has to confirm.
    pub to_proposal: bool,
}

/// What tells two situations apart: where the thread stands, whether that is a proposal, and what a revert brings back.
type Situation = (State, bool, State);

/// Every way from a state to a state, in the order of the states.
pub fn transitions() -> Vec<Transition> {
    let opening = Act::Open { board: 1, draft: draft(Kind::Ask), client_ref: None };
    let opened = Thread::decide(None, &Role::Creator.speaker(), opening, Time(0), Fresh::default());
    let Ok(Some(opened)) = opened else { return Vec::new() };
    let start = Thread::open(ThreadId::new(1), &opened);
    let mut known: BTreeSet<Situation> = BTreeSet::new();
    let mut found = BTreeSet::new();
    let mut ahead = VecDeque::from([(start, State::Open)]);
    while let Some((thread, confirmed)) = ahead.pop_front() {
        if !known.insert(situation(&thread, confirmed)) {
            continue;
        }
        for (by, (act, asked)) in
            Role::ALL.into_iter().flat_map(|by| acts().into_iter().map(move |act| (by, act)))
        {
            let Some(next) = done(&thread, by, &asked) else { continue };
            let (before, after) = (thread.standing(), next.standing());
            let (from_proposal, to_proposal) =
                (before.confirmed_at.is_none(), after.confirmed_at.is_none());
            let (from, to) = (before.state, after.state);
            if (from, from_proposal) == (to, to_proposal) {
                continue;
            }
            found.insert(Transition { from, from_proposal, by, act, to, to_proposal });
            ahead.push_back((next, if to_proposal { confirmed } else { to }));
        }
    }
    found.into_iter().collect()
}

fn situation(thread: &Thread, confirmed: State) -> Situation {
    (thread.standing().state, thread.standing().confirmed_at.is_none(), confirmed)
}

/// The thread after the act, if it is allowed and an event.
fn done(thread: &Thread, by: Role, act: &Act) -> Option<Thread> {
    let mut thread = thread.clone();
    let mut step = |speaker: &Speaker, act: Act| {
        let fresh = Fresh { message: thread.events() + 1, ..Fresh::default() };
        let at = Time(thread.events());
        let event = Thread::decide(Some(&thread), speaker, act, at, fresh).ok()??;
        thread.apply(&event);
        Some(())
    };
    if let Act::Post { .. } = act {
        // Somebody else speaks first, where that is allowed, so that nobody answers itself.
        let note = Act::Post { draft: draft(Kind::Note), client_ref: None };
        let _ = step(&speaker("parley:third", Origin::Llm), note);
    }
    step(&by.speaker(), act.clone())?;
    Some(thread)
}

fn acts() -> Vec<(&'static str, Act)> {
    let mut acts: Vec<(&'static str, Act)> = Kind::ALL
        .into_iter()
        .map(|kind| (kind.name(), Act::Post { draft: draft(kind), client_ref: None }))
        .collect();
    acts.extend([
        ("close", Act::Close),
        ("reopen", Act::Reopen),
        ("confirm", Act::Confirm),
        ("revert", Act::Revert),
    ]);
    for side in [SideState::Deferred, SideState::Obsolete, SideState::Rejected] {
        acts.push((side.state().name(), Act::Settle(side)));
    }
    acts
}

fn draft(kind: Kind) -> Draft {
    Draft {
        kind,
        body: "x".to_owned(),
        parent: None,
        relates_to: vec![],
        provenance: BTreeMap::new(),
        claims: vec![],
        refutes: vec![],
        evidence: vec![],
        url: None,
    }
}

fn speaker(line: &str, origin: Origin) -> Speaker {
    let author = Author { line: Arc::from(line), extension: None, origin };
    Speaker { author, rights: Rights::of([Right::Write]) }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};

    use super::*;

    #[test]
    fn every_state_is_reached_and_left_and_the_known_ways_are_there() {
        let all = transitions();
        let named: Vec<String> = all
            .iter()
            .map(|way| {
                let mark = |proposal: bool| if proposal { "?" } else { "" };
                format!(
                    "{}{} {} {} {}{}",
                    way.from.name(),
                    mark(way.from_proposal),
                    way.by.name(),
                    way.act,
                    way.to.name(),
                    mark(way.to_proposal)
                )
            })
            .collect();
        for state in State::ALL {
            assert!(
                all.iter().any(|way| way.to == state) && all.iter().any(|way| way.from == state)
            );
        }
        for known in [
            "open anybody answer answered?",
            "open creator close closed?",
            "open confirmer close closed",
            "answered? confirmer answer answered",
            "answered? confirmer confirm answered",
            "answered? confirmer revert open",
            "open creator decide decided?",
            "open confirmer decide decided",
            "closed confirmer reopen open",
            "open creator deferred deferred?",
            "rejected confirmer reopen open",
        ] {
            assert!(named.contains(&known.to_string()), "{known} in {named:#?}");
        }
        // Only confirmers confirm, and nobody else's act ends a confirmed close.
        assert!(all.iter().all(|way| way.act != "confirm" || way.by == Role::Confirmer));
        assert!(all.iter().all(|way| way.to_proposal || way.by == Role::Confirmer));
        let closed = |way: &&Transition| way.from == State::Closed && !way.from_proposal;
        assert!(all.iter().filter(closed).all(|way| way.act == "reopen"), "{named:#?}");
    }
}

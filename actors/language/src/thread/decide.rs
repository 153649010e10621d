//! Yes or no: the rules of section 4, one function per act.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;

use super::{Act, Fresh, Said, SideState, Thread};
use crate::author::Speaker;
use crate::envelope::{Draft, evidence_present};
use crate::event::{Attestation, Claim, ClientRef, Event, Fact, Mark, Message, Standing};
use crate::id::{AttestationId, ClaimId, MessageId};
use crate::reason::{Details, Reason, Refusal};
use crate::time::Time;
use crate::words::{Kind, State};

/// A decision: the fact it makes, or nothing when everything already is as asked.
pub type Decision = Result<Option<Event>, Refusal>;

/// Decides on the opening of a thread, which no state can forbid.
///
/// # Errors
/// `parent_not_found` (a new thread has no message to answer), `evidence_required`.
pub(super) fn opening(
    speaker: &Speaker,
    board: u64,
    draft: Draft,
    client_ref: Option<ClientRef>,
    at: Time,
    fresh: Fresh,
) -> Decision {
    if let Some(parent) = draft.parent {
        return Err(parent_not_found(parent));
    }
    evidence_present(&draft)?;
    let message = Arc::new(message(draft, client_ref, fresh));
    let fact = if message.refutes.is_empty() {
        Fact::Opened { board, message }
    } else {
        Fact::Refuted { board: Some(board), message, answers: None, seals: speaker.may_seal() }
    };
    Ok(Some(Event { at, by: speaker.author.clone(), fact }))
}

impl Thread {
    /// Yes or no to an act on a thread that may not exist yet. Changes nothing.
    ///
    /// `at` is never before the thread's last event; `fresh` numbers belong to nobody.
    ///
    /// # Errors
    /// The refusals of section 4, in the order the module names. `thread_not_found` for an act other than opening on
    /// a thread that was never opened.
    pub fn decide(
        thread: Option<&Self>,
        speaker: &Speaker,
        act: Act,
        at: Time,
        fresh: Fresh,
    ) -> Decision {
        match (thread, act) {
            (None, Act::Open { board, draft, client_ref }) => {
                opening(speaker, board, draft, client_ref, at, fresh)
            }
            (None, _) => Err(Refusal::new(
                Reason::ThreadNotFound,
                "there is no such thread; list them with get_threads",
            )
            .then("get_threads", vec![])),
            (Some(thread), Act::Open { .. }) => {
                Err(Refusal::new(Reason::Conflict, format!("{} is open already", thread.id)))
            }
            (Some(thread), act) => {
                debug_assert!(at >= thread.updated_at, "time went backwards");
                thread.decide_opened(speaker, act, at, fresh)
            }
        }
    }

    fn decide_opened(&self, speaker: &Speaker, act: Act, at: Time, fresh: Fresh) -> Decision {
        let fact = match act {
            Act::Open { .. } => unreachable!("decide has taken openings"),
            Act::Post { draft, client_ref } => {
                self.post(speaker, draft, client_ref, at, fresh).map(Some)
            }
            Act::Close => self.close(speaker, at),
            Act::Reopen => self.reopen(speaker, at).map(Some),
            Act::Settle(side) => self.settle(speaker, side, at),
            Act::Pin(pinned) => self.pin(pinned),
            Act::Confirm => self.confirm(speaker, at).map(Some),
            Act::Revert => self.revert(speaker).map(Some),
            Act::LlmReply { allowed, message } => self.llm_reply(allowed, message),
            Act::Attest { claim, verdict, evidence, note } => {
                let attestation = Attestation {
                    id: AttestationId::new(fresh.attestation),
                    verdict,
                    evidence,
                    note,
                };
                self.attest(speaker, claim, attestation).map(Some)
            }
            Act::Seal(claim) => self.seal(speaker, claim),
            Act::Reach { message, thread, refutes, overturns, supersedes, seals } => {
                let fact = Fact::Reached { message, thread, refutes, overturns, supersedes, seals };
                Ok(self.reached(message, fact))
            }
            Act::Illustrate { message, image } => {
                self.illustrate(speaker, message, image).map(Some)
            }
        }?;
        Ok(fact.map(|fact| Event { at, by: speaker.author.clone(), fact }))
    }

    fn post(
        &self,
        speaker: &Speaker,
        draft: Draft,
        client_ref: Option<ClientRef>,
        at: Time,
        fresh: Fresh,
    ) -> Result<Fact, Refusal> {
        let answered = match draft.parent {
            None => self.said.last().expect("a thread begins with a message"),
            Some(parent) => {
                &self.said[self.place(parent).ok_or_else(|| parent_not_found(parent))?]
            }
        };
        self.unlocked()?;
        self.llm_allowed(speaker, answered)?;
        let mark = self.mark_of(speaker, draft.kind, at)?;
        if !speaker.is_human() && answered.by == speaker.author {
            return Err(self.self_reply(answered.id));
        }
        evidence_present(&draft)?;
        self.refutes_current(&draft.refutes)?;
        let answers = answered.id;
        let message = Arc::new(message(draft, client_ref, fresh));
        Ok(if message.refutes.is_empty() {
            Fact::Posted { answers, message, mark }
        } else {
            let seals = speaker.may_seal();
            Fact::Refuted { board: None, message, answers: Some(answers), seals }
        })
    }

    /// The mark a message makes, if it makes one.
    fn mark_of(&self, speaker: &Speaker, kind: Kind, at: Time) -> Result<Option<Mark>, Refusal> {
        let (to, from) = match kind {
            Kind::Answer => (State::Answered, [State::Open].as_slice()),
            Kind::Decide => {
                self.authority(speaker)?;
                (State::Decided, [State::Open, State::Answered].as_slice())
            }
            Kind::Ask
            | Kind::Propose
            | Kind::Note
            | Kind::Refine
            | Kind::Refute
            | Kind::Request
            | Kind::Handover => return Ok(None),
        };
        let state = self.standing.state;
        if state.is_side() {
            // 13.3: what would move the state is refused in a side state, others are kept as messages.
            return Err(self.state_invalid(&format!("a message of kind `{}`", kind.name())));
        }
        // A confirmer who sets the state that is already proposed confirms it.
        let confirms = state == to && self.is_proposal() && speaker.is_confirmer();
        Ok((from.contains(&state) || confirms).then(|| self.mark_to(to, speaker, at)))
    }

    fn close(&self, speaker: &Speaker, at: Time) -> Result<Option<Fact>, Refusal> {
        self.unlocked()?;
        self.authority(speaker)?;
        let state = self.standing.state;
        if state.is_side() {
            return Err(self.state_invalid("closing"));
        }
        if state == State::Closed && !speaker.is_confirmer() {
            // 13.3: closing again what is proposed changes nothing.
            return Ok(None);
        }
        Ok(Some(Fact::Marked { mark: self.mark_to(State::Closed, speaker, at) }))
    }

    fn reopen(&self, speaker: &Speaker, at: Time) -> Result<Fact, Refusal> {
        self.authority(speaker)?;
        let confirmed_by_human = self.standing.confirmed_at.is_some()
            && self.standing.origin == crate::words::Origin::User;
        match self.standing.state {
            State::Open | State::Answered | State::Decided => {
                return Err(self.state_invalid("reopening"));
            }
            State::Closed if confirmed_by_human && !speaker.is_confirmer() => {
                return Err(Refusal::new(
                    Reason::ThreadAuthorityMissing,
                    format!(
                        "the human closed {}; only the human or a `lock` holder reopens it",
                        self.id
                    ),
                ));
            }
            State::Deferred | State::Obsolete | State::Rejected if !speaker.is_confirmer() => {
                return Err(self.only_confirmers("reopen a thread that was set aside"));
            }
            State::Closed | State::Deferred | State::Obsolete | State::Rejected => {}
        }
        Ok(Fact::Marked { mark: self.mark_to(State::Open, speaker, at) })
    }

    fn settle(
        &self,
        speaker: &Speaker,
        side: SideState,
        at: Time,
    ) -> Result<Option<Fact>, Refusal> {
        self.unlocked()?;
        self.authority(speaker)?;
        let state = self.standing.state;
        if state.is_side() && state != side.state() {
            return Err(self.state_invalid(&format!("setting it `{}`", side.state().name())));
        }
        let settled_already =
            state == side.state() && !(self.is_proposal() && speaker.is_confirmer());
        Ok((!settled_already)
            .then(|| Fact::Marked { mark: self.mark_to(side.state(), speaker, at) }))
    }

    fn pin(&self, pinned: bool) -> Result<Option<Fact>, Refusal> {
        self.unlocked()?;
        Ok((pinned != self.pinned).then_some(Fact::Pinned { pinned }))
    }

    fn confirm(&self, speaker: &Speaker, at: Time) -> Result<Fact, Refusal> {
        self.pending(speaker, "confirm a proposal")?;
        Ok(Fact::Marked { mark: self.mark_to(self.standing.state, speaker, at) })
    }

    fn revert(&self, speaker: &Speaker) -> Result<Fact, Refusal> {
        self.pending(speaker, "revert a proposal")?;
        let mark = Mark { from: self.standing.state, to: self.confirmed.0.clone(), reverted: true };
        Ok(Fact::Marked { mark })
    }

    fn llm_reply(
        &self,
        allowed: bool,
        message: Option<MessageId>,
    ) -> Result<Option<Fact>, Refusal> {
        let now = match message {
            None => self.llm_reply,
            Some(id) => {
                let place = self.place(id).ok_or_else(|| {
                    Refusal::new(
                        Reason::NotFound,
                        format!("{id} is no message of {}; read the thread", self.id),
                    )
                    .then("get_threads_id", vec![("id", self.id.to_string())])
                })?;
                !self.said[place].llm_forbidden
            }
        };
        Ok((now != allowed).then_some(Fact::LlmReply { allowed, message }))
    }

    // What is asked before an act.

    pub(super) fn unlocked(&self) -> Result<(), Refusal> {
        if !self.standing.locked {
            return Ok(());
        }
        let error =
            format!("thread {} is closed; reopen it first (creator, `lock` or the human)", self.id);
        Err(Refusal::new(Reason::ThreadClosed, error)
            .then("post_threads_id_reopen", vec![("id", self.id.to_string())]))
    }

    pub(super) fn llm_allowed(&self, speaker: &Speaker, answered: &Said) -> Result<(), Refusal> {
        if speaker.is_human() || (self.llm_reply && !answered.llm_forbidden) {
            return Ok(());
        }
        let closed = if self.llm_reply { answered.id.to_string() } else { self.id.to_string() };
        Err(Refusal::new(
            Reason::LlmReplyForbidden,
            format!("the human closed {closed} for AI; do not react here"),
        ))
    }

    fn authority(&self, speaker: &Speaker) -> Result<(), Refusal> {
        if speaker.is_confirmer() || speaker.author.line == self.creator {
            return Ok(());
        }
        let error = format!(
            "{} has no authority over {}; its creator {}, a `lock` holder or the human does this",
            speaker.author.line, self.id, self.creator
        );
        Err(Refusal::new(Reason::ThreadAuthorityMissing, error))
    }

    fn pending(&self, speaker: &Speaker, what: &str) -> Result<(), Refusal> {
        if !speaker.is_confirmer() {
            return Err(self.only_confirmers(what));
        }
        if self.is_proposal() {
            return Ok(());
        }
        let error = format!(
            "{} is {} and confirmed; there is no proposal",
            self.id,
            self.standing.state.name()
        );
        Err(Refusal::new(Reason::NothingToConfirm, error))
    }

    fn only_confirmers(&self, what: &str) -> Refusal {
        Refusal::new(
            Reason::ThreadAuthorityMissing,
            format!("only the human or a `lock` holder may {what} ({})", self.id),
        )
    }

    fn state_invalid(&self, what: &str) -> Refusal {
        let state = self.standing.state;
        let allowed = match state {
            State::Open | State::Answered | State::Decided => {
                ["close", "deferred", "obsolete", "rejected"].as_slice()
            }
            State::Closed | State::Deferred | State::Obsolete | State::Rejected => {
                ["reopen"].as_slice()
            }
        };
        let error = format!(
            "{} is {}, which {what} cannot change; what can be done: {}",
            self.id,
            state.name(),
            allowed.join(", ")
        );
        Refusal::new(Reason::StateInvalid, error).with(Details {
            allowed: allowed.iter().map(ToString::to_string).collect(),
            ..Details::default()
        })
    }

    fn self_reply(&self, answered: MessageId) -> Refusal {
        let error = format!(
            "{answered} is your own message; wait for another author, answer another message with `parent`, or use another extension"
        );
        Refusal::new(Reason::SelfReply, error).then("wait", vec![])
    }

    fn is_proposal(&self) -> bool {
        self.standing.confirmed_at.is_none()
    }

    /// The one rule: a confirmer's mark is confirmed, any other is a proposal; only a confirmed close locks. Who
    /// confirms another's proposal becomes the one who set the state, so that a later reopen knows whom it overrules.
    fn mark_to(&self, state: State, speaker: &Speaker, at: Time) -> Mark {
        let confirmed = speaker.is_confirmer();
        Mark {
            from: self.standing.state,
            to: Standing {
                state,
                origin: speaker.author.origin,
                confirmed_at: confirmed.then_some(at),
                by: Arc::clone(&speaker.author.line),
                locked: confirmed && state == State::Closed,
            },
            reverted: false,
        }
    }
}

fn parent_not_found(parent: MessageId) -> Refusal {
    Refusal::new(
        Reason::ParentNotFound,
        format!("{parent} is no message of this thread; name one that is, or leave `parent` out"),
    )
    .with(Details { field: Some("parent".into()), ..Details::default() })
}

fn message(draft: Draft, client_ref: Option<ClientRef>, fresh: Fresh) -> Message {
    let claims = draft.claims.into_iter().zip(fresh.claims..);
    Message {
        id: MessageId::new(fresh.message),
        kind: draft.kind,
        body: draft.body.into(),
        parent: draft.parent,
        relates_to: draft.relates_to,
        provenance: draft.provenance,
        claims: claims
            .map(|(claim, number)| Claim {
                id: ClaimId::new(number),
                statement: claim.statement,
                evidence: claim.evidence,
            })
            .collect(),
        refutes: draft.refutes,
        evidence: draft.evidence,
        url: draft.url,
        client_ref,
    }
}

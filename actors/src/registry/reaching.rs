//! What a message does to claims of other threads (section 5, 13.7).
//!
//! A claim belongs to the thread that asserted it, and that thread's actor alone changes it. A message elsewhere that
//! refutes it, refutes one of its refutations, or replaces it, is said first; then every thread it reaches is told, and
//! keeps the effect as an event of its own. The author is answered after both. A server that ends between the two tells
//! the thread after its next start ([`Registry::deliver`] by the courier): telling twice is telling once.
//!
//! A thread that is locked meanwhile takes nothing: the lock came first, the message stays as it was said.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parley_journal::Numbered;
use parley_language::claim::{Refutation, Target, related_claims, superseding, targets};
use parley_language::envelope::Draft;
use parley_language::event::{Message, Saying};
use parley_language::id::Statement;
use parley_language::reason::Details;
use parley_language::thread::{Act, current};
use parley_language::words::{Kind, Verdict};
use parley_language::{Author, ClaimId, Reason, Refusal, Rights, Speaker, ThreadId};

use super::Registry;
use super::answer::{no, unavailable};
use crate::record;
use crate::thread::Outcome;
use crate::view::View;

/// What a message does in one thread.
#[derive(Debug, Default)]
struct Effect {
    refutes: Vec<ClaimId>,
    overturns: Vec<Refutation>,
    supersedes: Vec<(ClaimId, ClaimId)>,
}

impl Registry {
    /// Whether everything the draft relates to and refutes exists, and may be touched. Existence never ends, so it may
    /// be asked before the decision; what stands in `home` itself is that thread's to decide.
    pub(super) async fn statements_exist(
        &self,
        home: Option<ThreadId>,
        speaker: &Speaker,
        draft: &Draft,
    ) -> Result<(), Refusal> {
        for (at, statement) in draft.relates_to.iter().enumerate() {
            let found = match statement {
                Statement::Thread(id) => self.0.directory.line(*id).map(|line| line.id.number),
                Statement::Message(id) => self.locate(record::MESSAGE_NUMBERS, id.number).await?,
                Statement::Claim(id) => self.locate(record::CLAIM_NUMBERS, id.number).await?,
            };
            if found.is_none() {
                let error =
                    format!("{statement} does not exist; name statements that do, or leave it out");
                return Err(at_field(Reason::NotFound, error, format!("relates_to[{at}]")));
            }
        }
        for (at, text) in draft.refutes.iter().enumerate() {
            let field = format!("refutes[{at}]");
            self.can_be_refuted(home, speaker, text)
                .await
                .map_err(|refusal| refusal.with_field(field))?;
        }
        if draft.kind == Kind::Refine && !draft.claims.is_empty() {
            for claim in related_claims(&draft.relates_to) {
                let (thread, view) = self.claims_thread(claim).await?;
                let own = view.book.get(claim).is_some_and(|entry| {
                    entry.by.line == speaker.author.line && entry.superseded_by.is_none()
                });
                if own && Some(thread) != home {
                    unlocked(&claim.to_string(), &view)?;
                }
            }
        }
        Ok(())
    }

    async fn can_be_refuted(
        &self,
        home: Option<ThreadId>,
        speaker: &Speaker,
        text: &str,
    ) -> Result<(), Refusal> {
        let missing =
            || Refusal::new(Reason::NotFound, format!("{text} does not exist; name what does"));
        let target = Target::parse(text).ok_or_else(missing)?;
        if let Target::Refutation(Refutation::Message(id)) = target
            && let Some(thread) = self.locate(record::MESSAGE_NUMBERS, id.number).await?
            && Some(ThreadId::new(thread)) != home
        {
            unlocked(text, &*self.view(ThreadId::new(thread)).await?)?;
        }
        for (thread, _) in self.roots(target).await? {
            if Some(thread) == home {
                continue;
            }
            let view = self.view(thread).await?;
            unlocked(text, &view)?;
            if let Target::Claim(claim) = target
                && let Some(entry) = view.book.get(claim)
            {
                let forbidden = view.llm_forbidden.contains(&entry.message.id);
                if !speaker.is_human() && (forbidden || !view.summary.llm_reply) {
                    let error = format!("the human closed {thread} for AI; do not react to {text}");
                    return Err(Refusal::new(Reason::LlmReplyForbidden, error));
                }
                current(claim, entry)?;
            }
        }
        Ok(())
    }

    /// The threads whose claims a target bears on, each with what of it: a claim's own thread, and for a refutation
    /// those of everything that it bears on in turn.
    async fn roots(&self, target: Target) -> Result<BTreeMap<ThreadId, Target>, Refusal> {
        let mut roots = BTreeMap::new();
        let mut seen = BTreeSet::from([target]);
        let mut open = vec![target];
        while let Some(next) = open.pop() {
            match next {
                Target::Claim(claim) => {
                    let (thread, _) = self.claims_thread(claim).await?;
                    roots.insert(thread, target);
                }
                Target::Refutation(Refutation::Attestation(id)) => {
                    let missing = || not_refuting(&id.to_string());
                    let thread = self.locate(record::ATTESTATION_NUMBERS, id.number).await?;
                    let thread = ThreadId::new(thread.ok_or_else(missing)?);
                    let view = self.view(thread).await?;
                    let mut words = view.book.claims().flat_map(|(_, entry)| &entry.words);
                    let refutes = words.any(|word| {
                        word.verdict == Verdict::Refutes
                            && word.attestation.as_ref().is_some_and(|told| told.id == id)
                    });
                    if !refutes {
                        return Err(missing());
                    }
                    roots.insert(thread, target);
                }
                Target::Refutation(Refutation::Message(id)) => {
                    let missing = || not_refuting(&id.to_string());
                    let thread = self.locate(record::MESSAGE_NUMBERS, id.number).await?;
                    let view = self.view(ThreadId::new(thread.ok_or_else(missing)?)).await?;
                    let at = view.said.binary_search_by_key(&id, |said| said.message().id);
                    let message = at.ok().map(|at| view.said[at].message());
                    let message = message.filter(|message| message.kind == Kind::Refute);
                    let message = message.ok_or_else(missing)?;
                    let further = targets(&message.refutes).filter(|target| seen.insert(*target));
                    open.extend(further.collect::<Vec<_>>());
                }
            }
        }
        Ok(roots)
    }

    /// Tells other threads what a durable message does to their claims. Telling twice is telling once.
    ///
    /// # Errors
    /// `unavailable` and `internal`: then some thread was not told, and the courier tells it later.
    pub(super) async fn deliver(
        &self,
        home: ThreadId,
        author: &Author,
        said: Saying<'_>,
    ) -> Result<(), Refusal> {
        let message = said.message;
        for (thread, effect) in self.effects(home, author, message).await? {
            let act = Act::Reach {
                message: message.id,
                thread: home,
                refutes: effect.refutes,
                overturns: effect.overturns,
                supersedes: effect.supersedes,
                seals: said.seals,
            };
            let speaker = Speaker { author: author.clone(), rights: Rights::READ };
            match self.ask(thread, speaker, act, None).await? {
                Outcome::Made { .. } | Outcome::Unchanged { .. } => {}
                other => return Err(no(other)),
            }
        }
        Ok(())
    }

    async fn effects(
        &self,
        home: ThreadId,
        author: &Author,
        message: &Arc<Message>,
    ) -> Result<BTreeMap<ThreadId, Effect>, Refusal> {
        let mut effects: BTreeMap<ThreadId, Effect> = BTreeMap::new();
        for target in targets(&message.refutes) {
            for (thread, target) in self.roots(target).await? {
                let effect = effects.entry(thread).or_default();
                match target {
                    Target::Claim(claim) => effect.refutes.push(claim),
                    Target::Refutation(refutation) => effect.overturns.push(refutation),
                }
            }
        }
        if message.kind == Kind::Refine && !message.claims.is_empty() {
            for claim in related_claims(&message.relates_to) {
                let (thread, view) = self.claims_thread(claim).await?;
                let known = |other| view.book.get(other).filter(|_| other == claim).cloned();
                let replaced = superseding(author, message, known);
                if !replaced.is_empty() {
                    effects.entry(thread).or_default().supersedes.extend(replaced);
                }
            }
        }
        // At home the message itself is the fact.
        effects.remove(&home);
        Ok(effects)
    }

    /// The thread that asserted a claim.
    ///
    /// # Errors
    /// `claim_not_found`, `unavailable`.
    pub(super) async fn claims_thread(
        &self,
        claim: ClaimId,
    ) -> Result<(ThreadId, Arc<View>), Refusal> {
        let Some(thread) = self.locate(record::CLAIM_NUMBERS, claim.number).await? else {
            let error = format!("there is no {claim}; list a thread's claims");
            return Err(Refusal::new(Reason::ClaimNotFound, error));
        };
        let thread = ThreadId::new(thread);
        Ok((thread, self.view(thread).await?))
    }

    pub(super) async fn locate(&self, series: u8, number: u64) -> Result<Option<u64>, Refusal> {
        let found = self.0.journal.locate(Numbered { series, number }).await;
        found.map_err(|error| unavailable(&error.to_string()))
    }
}

fn not_refuting(target: &str) -> Refusal {
    let error = format!("{target} is no refutation that exists; name a claim or what refutes one");
    Refusal::new(Reason::NotFound, error)
}

pub(super) fn unlocked(target: &str, view: &View) -> Result<(), Refusal> {
    if !view.summary.standing.locked {
        return Ok(());
    }
    let thread = view.summary.id;
    let error = format!(
        "{target} stands in {thread}, which is closed; reopen it first (creator, `lock` or the human)"
    );
    Err(Refusal::new(Reason::ThreadClosed, error)
        .then("post_threads_id_reopen", vec![("id", thread.to_string())]))
}

fn at_field(reason: Reason, error: String, field: String) -> Refusal {
    Refusal::new(reason, error).with(Details { field: Some(field), ..Details::default() })
}

//! Claims (section 5): statements that stand on proof and not on votes.
//!
//! A [`Book`] holds the claims of one thread and everything that was said of them, in order. What a claim's state is
//! follows from that by a pure function, so nothing is ever counted twice or forgotten.
//!
//! * Every line has one standing word on a claim: its newest attestation, or its newest message that refutes it.
//!   Older ones stay in the history and do not count. The asserting line's words never count, whatever its extension.
//! * A word that refutes is itself open to refutation: it stands unless a standing refutation by another line, with
//!   evidence, is aimed at it. Such chains may be of any length; what refutes is always newer than what it refutes.
//! * Popper's asymmetry: one standing refutation outweighs any support. On a sealed claim an ordinary one only makes
//!   the claim contested; a refutation by somebody who may seal, made after the seal, overturns it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::author::Author;
use crate::event::{Attestation, Claim, Event, Fact, Message, Saying};
use crate::id::{AttestationId, ClaimId, MessageId, Statement};
use crate::time::Time;
use crate::words::{ClaimState, Kind, Verdict};

/// An act that refutes and can itself be refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Refutation {
    /// A message of kind `refute`.
    Message(MessageId),
    /// An attestation with the verdict `refutes`.
    Attestation(AttestationId),
}

/// What a message can name in `refutes`: `cl_`, the `msg_` of a refuting act, or `at_` (13.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A claim.
    Claim(ClaimId),
    /// An act that refutes.
    Refutation(Refutation),
}

impl Target {
    /// Reads a key.
    pub fn parse(text: &str) -> Option<Self> {
        let claim = ClaimId::parse_key(text).map(Self::Claim);
        let message = || MessageId::parse_key(text).map(Refutation::Message);
        let attestation = || AttestationId::parse_key(text).map(Refutation::Attestation);
        claim.or_else(|| message().or_else(attestation).map(Self::Refutation))
    }
}

/// One word on a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Who said it.
    pub by: Author,
    /// When.
    pub at: Time,
    /// What it says.
    pub verdict: Verdict,
    /// The attestation, if it is one and not a message.
    pub attestation: Option<Arc<Attestation>>,
    source: Refutation,
    seals: bool,
}

impl Word {
    /// The message that refutes, if it is one and no attestation.
    pub fn message(&self) -> Option<MessageId> {
        match self.source {
            Refutation::Message(message) => Some(message),
            Refutation::Attestation(_) => None,
        }
    }
}

/// A seal on a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// The line that sealed it.
    pub by: Arc<str>,
    /// When.
    pub at: Time,
    /// How many words there were then.
    after: usize,
}

/// A claim and everything that was said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The message that asserts it.
    pub message: Arc<Message>,
    /// Its place among that message's claims.
    nth: usize,
    /// Who asserts it.
    pub by: Author,
    /// The words on it, oldest first.
    pub words: Vec<Word>,
    /// Its seal.
    pub seal: Option<Seal>,
    /// The claim that replaced it.
    pub superseded_by: Option<ClaimId>,
}

/// Where a claim stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its state.
    pub state: ClaimState,
    /// Whether it is sealed and a refutation stands all the same.
    pub contested: bool,
    /// For each word, whether it counts.
    pub counts: Vec<bool>,
}

impl Entry {
    /// The claim as it was asserted.
    pub fn claim(&self) -> &Claim {
        &self.message.claims[self.nth]
    }

    /// Whether this line ever supported it: who did is not independent any more.
    pub fn was_supported_by(&self, line: &str) -> bool {
        self.words.iter().any(|word| &*word.by.line == line && word.verdict == Verdict::Supports)
    }
}

/// The claims of one thread. Cloning shares what did not change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Book {
    claims: BTreeMap<ClaimId, Arc<Entry>>,
    /// Which messages refute a refutation.
    against: BTreeMap<Refutation, Arc<Vec<Against>>>,
}

/// A message aimed at a refutation, and its line.
type Against = (MessageId, Arc<str>);

impl Book {
    /// The book after a log.
    pub fn replay<'a>(log: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut book = Self::default();
        log.into_iter().for_each(|event| book.apply(event));
        book
    }

    /// Whether [`Book::apply`] would change something.
    pub fn concerns(fact: &Fact) -> bool {
        match fact {
            Fact::Attested { .. } | Fact::Sealed { .. } | Fact::Reached { .. } => true,
            other => other.said().is_some_and(|said| {
                !said.message.claims.is_empty() || !said.message.refutes.is_empty()
            }),
        }
    }

    /// Makes an event's fact so.
    pub fn apply(&mut self, event: &Event) {
        match &event.fact {
            Fact::Attested { claim, attestation, seals } => self.word(
                *claim,
                Word {
                    by: event.by.clone(),
                    at: event.at,
                    verdict: attestation.verdict,
                    source: Refutation::Attestation(attestation.id),
                    attestation: Some(Arc::clone(attestation)),
                    seals: *seals,
                },
            ),
            Fact::Sealed { claim } => {
                let entry = self.entry(*claim);
                let (by, after) = (Arc::clone(&event.by.line), entry.words.len());
                entry.seal = Some(Seal { by, at: event.at, after });
            }
            Fact::Reached { message, refutes, overturns, supersedes, seals, .. } => {
                for claim in refutes {
                    self.word(*claim, refuting(event, *message, *seals));
                }
                for refutation in overturns {
                    self.refute(*refutation, *message, &event.by.line);
                }
                for (old, new) in supersedes {
                    self.entry(*old).superseded_by.get_or_insert(*new);
                }
            }
            other => {
                if let Some(said) = other.said() {
                    self.say(event, said);
                }
            }
        }
    }

    fn say(&mut self, event: &Event, said: Saying<'_>) {
        let message = said.message;
        for target in message.refutes.iter().filter_map(|text| Target::parse(text)) {
            match target {
                // A claim of another thread is that thread's affair.
                Target::Claim(claim) if self.claims.contains_key(&claim) => {
                    self.word(claim, refuting(event, message.id, said.seals));
                }
                Target::Claim(_) => {}
                Target::Refutation(refutation) => {
                    self.refute(refutation, message.id, &event.by.line);
                }
            }
        }
        for (old, new) in superseding(&event.by, message, |claim| self.get(claim).cloned()) {
            self.entry(old).superseded_by.get_or_insert(new);
        }
        for (nth, claim) in message.claims.iter().enumerate() {
            let entry = Entry {
                message: Arc::clone(message),
                nth,
                by: event.by.clone(),
                words: Vec::new(),
                seal: None,
                superseded_by: None,
            };
            self.claims.insert(claim.id, Arc::new(entry));
        }
    }

    fn entry(&mut self, claim: ClaimId) -> &mut Entry {
        let entry = self.claims.get_mut(&claim).expect("decide saw the claim in this thread");
        Arc::make_mut(entry)
    }

    fn word(&mut self, claim: ClaimId, word: Word) {
        self.entry(claim).words.push(word);
    }

    fn refute(&mut self, refutation: Refutation, by_message: MessageId, line: &Arc<str>) {
        let against = self.against.entry(refutation).or_default();
        Arc::make_mut(against).push((by_message, Arc::clone(line)));
    }

    /// A claim of this thread.
    pub fn get(&self, claim: ClaimId) -> Option<&Arc<Entry>> {
        self.claims.get(&claim)
    }

    /// How many claims this thread has.
    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// All claims of this thread, oldest first.
    pub fn claims(&self) -> impl Iterator<Item = (ClaimId, &Arc<Entry>)> {
        self.claims.iter().map(|(id, entry)| (*id, entry))
    }

    /// Whether this message was already told to the book: as a word on a claim, against a refutation, or as what
    /// replaces a claim.
    pub fn knows(&self, message: MessageId, fact: &Fact) -> bool {
        let Fact::Reached { refutes, overturns, supersedes, .. } = fact else { return false };
        let told = |claim: &ClaimId| {
            self.claims[claim].words.iter().any(|word| word.source == Refutation::Message(message))
        };
        refutes.iter().all(told)
            && overturns.iter().all(|refutation| {
                let against = self.against.get(refutation);
                against.is_some_and(|against| against.iter().any(|(by, _)| *by == message))
            })
            && supersedes.iter().all(|(old, _)| self.claims[old].superseded_by.is_some())
    }

    /// The claims that a fact, already applied, may have moved.
    pub fn touched(&self, fact: &Fact) -> Vec<ClaimId> {
        let mut touched = Vec::new();
        let mut refutations = false;
        match fact {
            Fact::Attested { claim, .. } | Fact::Sealed { claim } => touched.push(*claim),
            Fact::Reached { refutes, overturns, supersedes, .. } => {
                touched.extend(refutes);
                touched.extend(supersedes.iter().map(|(old, _)| *old));
                refutations = !overturns.is_empty();
            }
            other => {
                let Some(said) = other.said() else { return touched };
                touched.extend(said.message.claims.iter().map(|claim| claim.id));
                touched.extend(related_claims(&said.message.relates_to));
                for target in targets(&said.message.refutes) {
                    match target {
                        Target::Claim(claim) => touched.push(claim),
                        Target::Refutation(_) => refutations = true,
                    }
                }
            }
        }
        if refutations {
            // A refutation that falls or stands again may bear on any claim that was refuted.
            let refuted =
                |entry: &Entry| entry.words.iter().any(|word| word.verdict == Verdict::Refutes);
            touched.extend(self.claims().filter(|(_, entry)| refuted(entry)).map(|(id, _)| id));
        }
        touched.sort_unstable();
        touched.dedup();
        touched.retain(|claim| self.claims.contains_key(claim));
        touched
    }

    /// Where a claim stands.
    pub fn standing(&self, entry: &Entry) -> Standing {
        let mut counts = alloc::vec![false; entry.words.len()];
        let mut spoken = BTreeSet::from([&entry.by.line]);
        let (mut supported, mut refuted, mut overturned) = (false, false, false);
        for (at, word) in entry.words.iter().enumerate().rev() {
            if !spoken.insert(&word.by.line) {
                continue;
            }
            match word.verdict {
                Verdict::Supports => supported = true,
                Verdict::Inconclusive => {}
                Verdict::Refutes if !self.stands(word.source, &word.by.line) => continue,
                Verdict::Refutes => {
                    refuted = true;
                    let after = entry.seal.as_ref().is_some_and(|seal| at >= seal.after);
                    overturned |= after && word.seals;
                }
            }
            counts[at] = true;
        }
        let sealed = entry.seal.is_some() && !overturned;
        let state = if entry.superseded_by.is_some() {
            ClaimState::Superseded
        } else if sealed {
            ClaimState::Verified
        } else if refuted {
            ClaimState::Refuted
        } else if supported {
            ClaimState::Supported
        } else {
            ClaimState::Unverified
        };
        let contested = refuted && state == ClaimState::Verified;
        Standing { state, contested, counts }
    }

    /// Whether a refutation stands: no standing refutation by another line is aimed at it.
    fn stands(&self, refutation: Refutation, line: &Arc<str>) -> bool {
        // Everything that can be reached through "is refuted by". What refutes is newer than what it refutes, so from
        // the newest to the oldest every answer is known when it is asked for. No recursion: chains may be long.
        let mut reached: BTreeMap<MessageId, Arc<str>> = BTreeMap::new();
        let mut open = alloc::vec![(refutation, Arc::clone(line))];
        while let Some((refutation, line)) = open.pop() {
            for (by, other) in self.aimed_at(refutation, &line) {
                if reached.insert(by, Arc::clone(&other)).is_none() {
                    open.push((Refutation::Message(by), other));
                }
            }
        }
        let mut standing: BTreeSet<MessageId> = BTreeSet::new();
        for (message, line) in reached.iter().rev() {
            let mut against = self.aimed_at(Refutation::Message(*message), line);
            if against.all(|(by, _)| !standing.contains(&by)) {
                standing.insert(*message);
            }
        }
        self.aimed_at(refutation, line).all(|(by, _)| !standing.contains(&by))
    }

    /// The refutations by other lines that are aimed at one of this line.
    fn aimed_at(&self, refutation: Refutation, line: &str) -> impl Iterator<Item = Against> {
        let against = self.against.get(&refutation).into_iter().flat_map(|against| against.iter());
        against
            .filter(move |(by, other)| {
                let newer = match refutation {
                    Refutation::Message(message) => *by > message,
                    Refutation::Attestation(_) => true,
                };
                newer && **other != *line
            })
            .cloned()
    }
}

fn refuting(event: &Event, message: MessageId, seals: bool) -> Word {
    Word {
        by: event.by.clone(),
        at: event.at,
        verdict: Verdict::Refutes,
        attestation: None,
        source: Refutation::Message(message),
        seals: seals || event.by.origin == crate::words::Origin::User,
    }
}

/// Which claims a message replaces: a `refine` with claims replaces those of its line's older claims that it relates
/// to, each by the first claim it asserts. A claim is replaced once. `known` finds the claims that may be meant.
pub fn superseding(
    by: &Author,
    message: &Message,
    known: impl Fn(ClaimId) -> Option<Arc<Entry>>,
) -> Vec<(ClaimId, ClaimId)> {
    let Some(new) = message.claims.first().filter(|_| message.kind == Kind::Refine) else {
        return Vec::new();
    };
    let own = |claim: &ClaimId| {
        known(*claim).is_some_and(|entry| entry.by.line == by.line && entry.superseded_by.is_none())
    };
    related_claims(&message.relates_to).filter(own).map(|old| (old, new.id)).collect()
}

/// The claims among statements.
pub fn related_claims(statements: &[Statement]) -> impl Iterator<Item = ClaimId> + '_ {
    statements.iter().filter_map(|statement| match statement {
        Statement::Claim(claim) => Some(*claim),
        Statement::Thread(_) | Statement::Message(_) => None,
    })
}

/// Texts of `refutes` as what they name; those that name nothing are left out, which the envelope has refused.
pub fn targets(refutes: &[String]) -> impl Iterator<Item = Target> + '_ {
    refutes.iter().filter_map(|text| Target::parse(text))
}

//! The clients: they want things, hang up, repeat what they may repeat, and hold the house to what it told them.

use parley_language::event::Event;

use super::{Call, End, Outcome, Stage, WISHES_MAX, World};
use crate::mistake::Mistake;
use crate::people::wish;
use crate::promises::{Kept, hold, same};

impl World {
    pub(super) fn want(&mut self) -> Kept {
        if self.open == WISHES_MAX {
            return Ok(());
        }
        let ledgers = &self.ledgers;
        let first =
            |thread: usize| ledgers[thread].now().and_then(|thread| thread.messages().next());
        let wish = wish(&mut self.dice, &self.wishes, first);
        self.wishes.push(wish);
        self.ends.push(End::default());
        self.open += 1;
        self.call(self.wishes.len() - 1, true);
        Ok(())
    }

    pub(super) fn call(&mut self, wish: usize, keyed: bool) {
        let stage = Stage::Waiting;
        let keyed = keyed && self.wishes[wish].reference.is_some();
        self.active.push(self.calls.len());
        self.calls.push(Call {
            wish,
            stage,
            keyed,
            orphan: false,
            from: 0,
            denied: false,
            stored: false,
        });
    }

    /// A caller goes away. A call that has not asked yet goes with it; an act that is under way keeps its reference
    /// until its outcome is known, or the retry would be refused for what its first try is about to change.
    pub(super) fn hang_up(&mut self) -> Kept {
        let Some(&call) = self.active.get(self.dice.roll(self.active.len())) else { return Ok(()) };
        if self.calls[call].orphan {
            return Ok(());
        }
        self.calls[call].orphan = true;
        let is_asked = matches!(self.calls[call].stage, Stage::Asked | Stage::Unsure);
        if !is_asked || self.mistake == Mistake::ReservationEndsWithCaller {
            self.release(call);
        }
        if !is_asked {
            self.done(call);
        }
        self.not_told(call);
        Ok(())
    }

    /// A client that does not know what became of its call repeats it, if that cannot do harm.
    pub(super) fn not_told(&mut self, call: usize) {
        let Call { wish, keyed, .. } = self.calls[call];
        if keyed || !self.wishes[wish].is_message() {
            self.call(wish, self.mistake != Mistake::RetryWithoutKey);
        } else {
            self.open -= 1;
        }
    }

    /// The client hears the answer.
    pub(super) fn told(&mut self, call: usize, outcome: &Outcome) -> Kept {
        let Call { wish, from, .. } = self.calls[call];
        let intent = &self.wishes[wish];
        let thread = intent.thread;
        match outcome {
            Outcome::Made { event, summary, seq } => {
                let stored = self.disk.durable[thread].get(*seq);
                hold(stored.is_some_and(|stored| same(&stored.event, event)), || {
                    "P-5: what was acknowledged is not durable".into()
                })?;
                self.ledgers[thread].show(seq + 1, summary)?;
                self.heard[0] += 1;
            }
            Outcome::Found(thread, seq) => {
                // The first answer again, or, for another envelope, a conflict that names it.
                let (key, envelope) =
                    key_of(&self.disk.durable[*thread][*seq].event).unwrap_or_default();
                hold(Some(key) == intent.reference, || {
                    "P-3: a reference finds another's message".into()
                })?;
                let is_own = self.ends[wish].stored_at.is_none_or(|own| own == (*thread, *seq));
                hold(is_own, || {
                    "P-3: a retry is answered with another message than its own".into()
                })?;
                self.heard[if envelope == intent.envelope { 2 } else { 3 }] += 1;
            }
            Outcome::Unchanged => {
                self.ledgers[thread].was_true(from, &self.people[intent.who], intent, None)?;
                self.heard[1] += 1;
            }
            Outcome::Refused(reason) => {
                self.ledgers[thread].was_true(
                    from,
                    &self.people[intent.who],
                    intent,
                    Some(*reason),
                )?;
                let is_message = intent.is_message();
                self.heard[4] += 1;
                self.deny(call)?;
                if is_message {
                    let is_stored = self.ends[wish].stored_at.is_some();
                    hold(!is_stored, || format!("P-10: {reason} was answered, and it is stored"))?;
                    self.ends[wish].refused = true;
                }
            }
            Outcome::Unavailable => {
                self.heard[5] += 1;
                self.deny(call)?;
                self.call(wish, self.mistake != Mistake::RetryWithoutKey);
                return Ok(());
            }
            Outcome::Unknown => {
                self.heard[6] += 1;
                self.not_told(call);
                return Ok(());
            }
        }
        self.open -= 1;
        Ok(())
    }

    /// P-10: this call was told that nothing of it is stored.
    pub(super) fn deny(&mut self, call: usize) -> Kept {
        self.calls[call].denied = true;
        hold(!self.calls[call].stored, || "P-10: a call was denied, and it is stored".into())
    }
}

/// The reference of a message and the envelope under it.
fn key_of(event: &Event) -> Option<(usize, u8)> {
    let key = event.fact.said()?.message.client_ref.as_ref()?;
    Some((key.text.parse().ok()?, key.digest[0]))
}

//! The registry's and the thread actor's part, with the real seat in their hands.

use std::collections::VecDeque;
use std::sync::Arc;

use parley_actors::seat::{Held, Seat, Step};
use parley_language::event::Event;
use parley_language::thread::{Fresh, Summary, Thread};
use parley_language::{Reason, Time};

use super::{Host, Outcome, Stage, World};
use crate::disk::{Answer, Fault, Job, Record};
use crate::mistake::Mistake;
use crate::people::{THREADS, thread_id};
use crate::promises::Kept;

impl World {
    pub(super) fn deliver(&mut self) -> Kept {
        match self.active.get(self.dice.roll(self.active.len())) {
            Some(&call) => self.step(call),
            None => Ok(()),
        }
    }

    /// A call's next step: the reference is reserved and looked up, then the seat is asked.
    pub(super) fn step(&mut self, call: usize) -> Kept {
        let wish = self.calls[call].wish;
        let intent = &self.wishes[wish];
        match self.calls[call].stage {
            Stage::Waiting => {
                if let Some(reference) = intent.reference.filter(|_| self.calls[call].keyed) {
                    if self.mistake != Mistake::NoReservation {
                        let holder = *self.reserved.entry(reference).or_insert(call);
                        if holder != call {
                            return Ok(());
                        }
                    }
                    if self.mistake != Mistake::DecideBeforeFind
                        && let Some(&(thread, seq)) = self.disk.references.get(&reference)
                    {
                        return self.answer(call, &Outcome::Found(thread, seq));
                    }
                }
                self.calls[call].stage = Stage::Ready;
                Ok(())
            }
            Stage::Ready => {
                let thread = intent.thread;
                let host = self.place(thread)?;
                if self.hosts[&host].seat.is_some() { self.ask(call, host) } else { Ok(()) }
            }
            Stage::Asked | Stage::Done => Ok(()),
            // The thread is opened anew before anybody hears that the outcome is unknown.
            Stage::Unsure => {
                let thread = intent.thread;
                let host = self.place(thread)?;
                if self.hosts[&host].seat.is_some() {
                    self.answer(call, &Outcome::Unknown)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// The host of a thread; a new one begins by reading the log.
    pub(super) fn place(&mut self, thread: usize) -> Result<u64, String> {
        if let Some(host) = self.places[thread]
            && self.hosts.get(&host).is_some_and(|host| !host.failed)
        {
            return Ok(host);
        }
        self.drawn += 1;
        let host = self.drawn;
        let (remains, mail) = (VecDeque::new(), VecDeque::new());
        self.hosts
            .insert(host, Host { thread, seat: None, failed: false, remains, view: None, mail });
        self.places[thread] = Some(host);
        if let Some(answer) = self.disk.hand_in(Job::Read { thread, host }) {
            self.hosts.get_mut(&host).expect("it was just made").mail.push_back(answer);
        }
        Ok(host)
    }

    pub(super) fn answer(&mut self, call: usize, outcome: &Outcome) -> Kept {
        if self.calls[call].stage == Stage::Done {
            return Ok(());
        }
        self.release(call);
        self.done(call);
        if self.calls[call].orphan { Ok(()) } else { self.told(call, outcome) }
    }

    pub(super) fn release(&mut self, call: usize) {
        if let Some(reference) = self.wishes[self.calls[call].wish].reference
            && self.reserved.get(&reference) == Some(&call)
        {
            self.reserved.remove(&reference);
        }
    }

    pub(super) fn done(&mut self, call: usize) {
        self.calls[call].stage = Stage::Done;
        self.active.retain(|active| *active != call);
    }

    pub(super) fn ask(&mut self, call: usize, host: u64) -> Kept {
        let place = self.hosts.get_mut(&host).expect("it was just found");
        let thread = place.thread;
        let seat = place.seat.as_mut().expect("it is open");
        if seat.is_idle() && self.mistake != Mistake::PublishBeforeDurable {
            self.ledgers[thread].rests(seat.thread())?;
        }
        let wish = &self.wishes[self.calls[call].wish];
        let (speaker, act) = (&self.people[wish.who], wish.act(self.calls[call].keyed));
        self.calls[call].from = self.ledgers[thread].len();
        self.calls[call].stage = Stage::Asked;
        self.messages += 1;
        let fresh = Fresh { message: self.messages, claims: 1, attestation: 1 };
        let at = Time(self.now);
        if self.mistake == Mistake::RefuseBeforeDurable {
            let now = seat.thread().map_or(at, |thread| at.max(thread.updated_at()));
            match Thread::decide(seat.thread(), speaker, act.clone(), now, fresh) {
                Ok(Some(_)) => {}
                Ok(None) => return self.answer(call, &Outcome::Unchanged),
                Err(refusal) => return self.answer(call, &Outcome::Refused(refusal.reason)),
            }
        }
        match seat.ask(speaker, act, at, fresh, call) {
            Step::Hold => Ok(()),
            Step::Answer { answer, reply } => {
                self.answer(reply, &unmoved(answer.err().map(|no| no.reason)))
            }
            Step::Append { event, expected, summary } => {
                let reference = wish.reference.filter(|_| self.calls[call].keyed);
                let record = Record { event: Arc::clone(&event), call, expected };
                if self.mistake == Mistake::PublishBeforeDurable {
                    place.view = Some((expected as usize + 1, Arc::clone(&summary)));
                }
                drop(self.disk.hand_in(Job::Append { thread, host, record, reference }));
                if self.mistake == Mistake::AcknowledgeBeforeDurable {
                    return self
                        .answer(call, &Outcome::Made { event, summary, seq: expected as usize });
                }
                Ok(())
            }
        }
    }

    pub(super) fn hear(&mut self) -> Kept {
        let waiting: Vec<u64> = self
            .hosts
            .iter()
            .filter(|(_, host)| !host.mail.is_empty())
            .map(|(id, _)| *id)
            .collect();
        match waiting.get(self.dice.roll(waiting.len())) {
            Some(&host) => self.hear_from(host),
            None => Ok(()),
        }
    }

    pub(super) fn hear_from(&mut self, id: u64) -> Kept {
        let host = self.hosts.get_mut(&id).expect("it has mail");
        let thread = host.thread;
        match host.mail.pop_front().expect("it has mail") {
            Answer::Log(log) => {
                let seat = Seat::open(thread_id(thread), &log);
                host.view = seat.thread().map(|state| (log.len(), Arc::new(state.summary())));
                let kept = self.ledgers[thread].rests(seat.thread());
                host.seat = Some(seat);
                kept
            }
            Answer::Appended { seq, result } => {
                if host.failed {
                    return self.settle_remains(id, seq as usize, result);
                }
                if result.is_err() && self.mistake != Mistake::KeepSeatAfterFault {
                    // The seat is over; there is no method for repairing it.
                    host.failed = true;
                    host.remains = host.seat.take().map(Seat::dissolve).unwrap_or_default();
                    return self.settle_remains(id, seq as usize, result);
                }
                self.settle(id, seq as usize, result)
            }
        }
    }

    /// One append is durable: publish first, then answer.
    pub(super) fn settle(&mut self, id: u64, seq: usize, result: Result<(), Fault>) -> Kept {
        let host = self.hosts.get_mut(&id).expect("it has a seat");
        let seat = host.seat.as_mut().expect("it has not failed");
        let mut held = Vec::new();
        seat.appended(|one| held.push(one));
        for held in held {
            match held {
                Held::Event { event, summary, reply } => {
                    let host = self.hosts.get_mut(&id).expect("answering removes no host");
                    if self.mistake != Mistake::PublishBeforeDurable {
                        host.view = Some((seq + 1, Arc::clone(&summary)));
                    }
                    self.outcome(reply, event, summary, seq, result)?;
                }
                Held::Answer { answer, reply } => {
                    self.answer(reply, &unmoved(answer.err().map(|no| no.reason)))?;
                }
            }
        }
        Ok(())
    }

    /// The oldest event of a dissolved seat is answered as the disk answered it. Answers that rested on it were never
    /// true of anything stored.
    pub(super) fn settle_remains(
        &mut self,
        id: u64,
        seq: usize,
        result: Result<(), Fault>,
    ) -> Kept {
        let host = self.hosts.get_mut(&id).expect("it has mail");
        let Some(Held::Event { event, summary, reply }) = host.remains.pop_front() else {
            return Err("the simulator: an append was answered that nobody made".into());
        };
        let mut moot = Vec::new();
        while let Some(Held::Answer { reply, .. }) = host.remains.front() {
            moot.push(*reply);
            host.remains.pop_front();
        }
        if host.remains.is_empty() {
            self.hosts.remove(&id);
        }
        self.outcome(reply, event, summary, seq, result)?;
        moot.into_iter().try_for_each(|reply| self.answer(reply, &Outcome::Unavailable))
    }

    pub(super) fn outcome(
        &mut self,
        call: usize,
        event: Arc<Event>,
        summary: Arc<Summary>,
        seq: usize,
        result: Result<(), Fault>,
    ) -> Kept {
        match result {
            Ok(()) => self.answer(call, &Outcome::Made { event, summary, seq }),
            Err(Fault::Conflict | Fault::Refused) => self.answer(call, &Outcome::Unavailable),
            Err(Fault::Duplicate(thread, seq)) => self.answer(call, &Outcome::Found(thread, seq)),
            Err(Fault::Unknown) if self.mistake == Mistake::UnknownCalledUnavailable => {
                self.answer(call, &Outcome::Unavailable)
            }
            Err(Fault::Unknown) => self.unsure(call),
        }
    }

    pub(super) fn unsure(&mut self, call: usize) -> Kept {
        if self.mistake == Mistake::AnswerUnknownAtOnce {
            return self.answer(call, &Outcome::Unknown);
        }
        if self.calls[call].stage != Stage::Done {
            self.calls[call].stage = Stage::Unsure;
        }
        Ok(())
    }

    pub(super) fn passivate(&mut self) -> Kept {
        let thread = self.dice.roll(THREADS);
        let idle = |id: &u64| {
            self.hosts.get(id).is_some_and(|host| host.seat.as_ref().is_some_and(Seat::is_idle))
        };
        if let Some(host) = self.places[thread].filter(idle) {
            self.hosts.remove(&host);
            self.places[thread] = None;
        }
        Ok(())
    }
}

fn unmoved(no: Option<Reason>) -> Outcome {
    no.map_or(Outcome::Unchanged, Outcome::Refused)
}

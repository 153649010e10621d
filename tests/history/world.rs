//! The world: seats, a disk, clients that repeat themselves, readers, and bad weather. A tick is one step of one of
//! them.

mod client;
mod house;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parley_actors::seat::{Held, Seat};
use parley_language::event::Event;
use parley_language::thread::Summary;
use parley_language::{Reason, Speaker};

use crate::dice::Dice;
use crate::disk::{Answer, Disk, Luck};
use crate::mistake::Mistake;
use crate::people::{Intent, THREADS, people};
use crate::promises::{Kept, Ledger, hold};

/// Wishes that may be under way at a time.
const WISHES_MAX: usize = 12;
/// Rounds in which a healed world has to come to rest.
const ROUNDS_MAX: usize = 1_000;

/// What clients hear, in the order of [`World::heard`].
pub(crate) const HEARD: [&str; 7] = [
    "made",
    "unchanged",
    "replayed",
    "conflict of references",
    "refused",
    "unavailable",
    "unknown",
];

/// A call on its way through the house.
struct Call {
    wish: usize,
    stage: Stage,
    /// Sent with the reference; a mistaken client's retry is not.
    keyed: bool,
    /// Its caller hung up.
    orphan: bool,
    /// How long the thread was when the seat was asked.
    from: usize,
    /// Answered in a way that says that nothing was stored.
    denied: bool,
    stored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// At the door: the reference is not yet its own.
    Waiting,
    /// Past the door, on the way to the seat.
    Ready,
    /// Asked.
    Asked,
    /// Its outcome is unknown; it is answered when the thread is open again.
    Unsure,
    Done,
}

/// What has become of a wish for a message.
#[derive(Default)]
struct End {
    refused: bool,
    stored_at: Option<(usize, usize)>,
}

/// What a call is answered.
#[derive(Debug, Clone)]
enum Outcome {
    Made {
        event: Arc<Event>,
        summary: Arc<Summary>,
        seq: usize,
    },
    Unchanged,
    Refused(Reason),
    /// The record that the reference has; the same envelope or not is seen there.
    Found(usize, usize),
    Unavailable,
    Unknown,
}

/// A thread actor's part: a seat and what it publishes.
struct Host {
    thread: usize,
    /// Absent while the log is being read.
    seat: Option<Seat<usize>>,
    failed: bool,
    /// What a dissolved seat still held.
    remains: VecDeque<Held<usize>>,
    /// What readers see: how many events, and the thread after them.
    view: Option<(usize, Arc<Summary>)>,
    mail: VecDeque<Answer>,
}

pub(crate) struct World {
    mistake: Mistake,
    dice: Dice,
    /// Faults in a hundred.
    weather: usize,
    /// How often in a hundred the disk gets to work when it could: a slow one has much in flight.
    pace: usize,
    now: u64,
    people: Vec<Speaker>,
    wishes: Vec<Intent>,
    /// Wishes that have not ended.
    open: usize,
    ends: Vec<End>,
    calls: Vec<Call>,
    /// Calls that are not done.
    active: Vec<usize>,
    reserved: BTreeMap<usize, usize>,
    hosts: BTreeMap<u64, Host>,
    /// The host that is asked, by thread.
    places: Vec<Option<u64>>,
    drawn: u64,
    messages: u64,
    disk: Disk,
    ledgers: Vec<Ledger>,
    /// A sum of everything that happened, to compare histories.
    pub(crate) trace: u64,
    /// How often clients heard each of [`HEARD`].
    pub(crate) heard: [u64; 7],
}

impl World {
    /// A world whose whole history follows from the seed.
    pub(crate) fn new(seed: u64, mistake: Mistake) -> Self {
        let mut dice = Dice(seed);
        let weather = [0, 2, 20][dice.roll(3)];
        let pace = [100, 25][dice.roll(2)];
        Self {
            mistake,
            dice,
            weather,
            pace,
            now: 1_000,
            people: people(),
            wishes: Vec::new(),
            open: 0,
            ends: Vec::new(),
            calls: Vec::new(),
            active: Vec::new(),
            reserved: BTreeMap::new(),
            hosts: BTreeMap::new(),
            places: vec![None; THREADS],
            drawn: 0,
            messages: 0,
            disk: Disk::new(THREADS, mistake),
            ledgers: (0..THREADS).map(|_| Ledger::default()).collect(),
            trace: seed,
            heard: [0; 7],
        }
    }

    /// One step of one of them.
    pub(crate) fn tick(&mut self) -> Kept {
        // The clock may stand still, and now and then it is put back.
        self.now = (self.now + self.dice.roll(3) as u64)
            .saturating_sub(u64::from(self.dice.happens(1)) * 50);
        if self.dice.happens(self.weather / 4) {
            return match self.dice.roll(20) {
                0 => self.cut_power(),
                1..10 => self.kill(),
                _ => self.hang_up(),
            };
        }
        match self.dice.roll(100) {
            0..16 => self.want(),
            16..50 => self.deliver(),
            50..56 => self.look(),
            56..74 if self.dice.happens(self.pace) => self.flush(),
            56..74 => Ok(()),
            74..98 => self.hear(),
            _ => self.passivate(),
        }
    }

    /// No more faults: everything that is under way has to end, and everybody sees all of it.
    pub(crate) fn heal(&mut self) -> Kept {
        self.weather = 0;
        for _ in 0..ROUNDS_MAX {
            for call in self.active.clone() {
                self.step(call)?;
            }
            self.work_off(usize::MAX, Luck::Good)?;
            while let Some(host) =
                self.hosts.iter().find(|(_, host)| !host.mail.is_empty()).map(|(id, _)| *id)
            {
                self.hear_from(host)?;
            }
            if self.active.is_empty() && self.disk.queued() == 0 {
                break;
            }
        }
        hold(self.open == 0 && self.active.is_empty(), || {
            format!("the end: {} wishes never end", self.open)
        })?;
        for thread in 0..THREADS {
            self.ledgers[thread].replays(thread)?;
            let host = self.place(thread)?;
            self.work_off(usize::MAX, Luck::Good)?;
            while self.hosts.get(&host).is_some_and(|host| !host.mail.is_empty()) {
                self.hear_from(host)?;
            }
            self.look_at(thread)?;
            let shown = self.hosts[&host].view.as_ref().map_or(0, |(count, _)| *count);
            hold(shown == self.ledgers[thread].len(), || {
                "the end: a reader does not see everything".into()
            })?;
        }
        Ok(())
    }

    fn look(&mut self) -> Kept {
        let thread = self.dice.roll(THREADS);
        self.place(thread)?;
        self.look_at(thread)
    }

    fn look_at(&mut self, thread: usize) -> Kept {
        let host =
            self.places[thread].and_then(|host| self.hosts.get(&host)).filter(|host| !host.failed);
        match host.and_then(|host| host.view.as_ref()) {
            Some((count, summary)) => self.ledgers[thread].look(*count, summary),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Kept {
        let luck = if self.dice.happens(self.weather) {
            [Luck::Lost, Luck::Stored, Luck::Refused][self.dice.roll(3)]
        } else {
            Luck::Good
        };
        let count = 1 + self.dice.roll(6);
        self.work_off(count, luck)
    }

    fn work_off(&mut self, count: usize, luck: Luck) -> Kept {
        let (answers, grown) = self.disk.flush(count, luck);
        self.grown(&grown)?;
        for (host, answer) in answers {
            if let Some(host) = self.hosts.get_mut(&host) {
                host.mail.push_back(answer);
            }
        }
        Ok(())
    }

    fn grown(&mut self, grown: &[usize]) -> Kept {
        for &thread in grown {
            let record = &self.disk.durable[thread][self.ledgers[thread].len()];
            self.ledgers[thread].grow(thread, record)?;
            let call = &mut self.calls[record.call];
            self.trace = (self.trace ^ record.call as u64)
                .wrapping_mul(0x0100_0000_01B3)
                .wrapping_add(record.event.at.0);
            call.stored = true;
            hold(!call.denied, || "P-10: what was denied is stored after all".into())?;
            if self.wishes[call.wish].is_message() {
                let end = &mut self.ends[call.wish];
                let is_first =
                    end.stored_at.replace((thread, self.ledgers[thread].len() - 1)).is_none();
                hold(is_first, || "P-3: one wish became two messages".into())?;
                hold(!end.refused, || "P-10: what was refused is stored after all".into())?;
            }
        }
        Ok(())
    }

    /// An actor dies with whatever it has in flight; the disk does not notice.
    fn kill(&mut self) -> Kept {
        let ids: Vec<u64> = self.hosts.keys().copied().collect();
        let Some(host) = ids.get(self.dice.roll(ids.len())).and_then(|id| self.hosts.remove(id))
        else {
            return Ok(());
        };
        let held = host.seat.map(Seat::dissolve).unwrap_or_default();
        for held in held.into_iter().chain(host.remains) {
            let (Held::Event { reply, .. } | Held::Answer { reply, .. }) = held;
            self.unsure(reply)?;
        }
        Ok(())
    }

    /// All that is not durable is gone, also who was asked and what was reserved.
    fn cut_power(&mut self) -> Kept {
        let done = self.dice.roll(self.disk.queued() + 1);
        let grown = self.disk.cut(done);
        self.grown(&grown)?;
        self.hosts.clear();
        self.places.fill(None);
        self.reserved.clear();
        for call in std::mem::take(&mut self.active) {
            self.calls[call].stage = Stage::Done;
            if !self.calls[call].orphan {
                self.not_told(call);
            }
        }
        Ok(())
    }
}

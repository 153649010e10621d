//! The journal of the simulator: what is durable and what is queued. It keeps the fence (J2), stores a group as a
//! whole or not at all (J4), and lets reads wait behind the appends before them (J5).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parley_language::event::Event;

use crate::mistake::Mistake;

/// One stored event, and which call brought it.
pub(crate) struct Record {
    pub(crate) event: Arc<Event>,
    pub(crate) call: usize,
    /// The sequence number the append asked for.
    pub(crate) expected: u64,
}

/// What is asked of the disk, by which seat.
pub(crate) enum Job {
    Append { thread: usize, host: u64, record: Record, reference: Option<usize> },
    Read { thread: usize, host: u64 },
}

/// What the disk answers to a seat.
pub(crate) enum Answer {
    Log(Vec<Event>),
    Appended { seq: u64, result: Result<(), Fault> },
}

/// Why an append is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The stream ends elsewhere. Nothing is stored.
    Conflict,
    /// The reference is taken by this record. Nothing is stored.
    Duplicate(usize, usize),
    /// Nothing is stored.
    Refused,
    /// It may be stored.
    Unknown,
}

/// What happens to a group on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Luck {
    Good,
    /// Failed and absent.
    Lost,
    /// Failed but present.
    Stored,
    /// Refused.
    Refused,
}

pub(crate) struct Disk {
    /// By thread.
    pub(crate) durable: Vec<Vec<Record>>,
    /// Where the record with a reference is.
    pub(crate) references: BTreeMap<usize, (usize, usize)>,
    queued: VecDeque<Job>,
    mistake: Mistake,
}

impl Disk {
    pub(crate) fn new(threads: usize, mistake: Mistake) -> Self {
        let durable = (0..threads).map(|_| Vec::new()).collect();
        Self { durable, references: BTreeMap::new(), queued: VecDeque::new(), mistake }
    }

    /// Takes a job. An answer at once is a mistake.
    pub(crate) fn hand_in(&mut self, job: Job) -> Option<Answer> {
        if let (Job::Read { thread, .. }, Mistake::LoadOvertakesAppend) = (&job, self.mistake) {
            return Some(self.read(*thread));
        }
        self.queued.push_back(job);
        None
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued.len()
    }

    /// Works off the oldest jobs as one group: the answers, and the threads that grew, once for each new record.
    pub(crate) fn flush(&mut self, count: usize, luck: Luck) -> (Vec<(u64, Answer)>, Vec<usize>) {
        let mut answers = Vec::new();
        let mut grown = Vec::new();
        for job in self.queued.drain(..count.min(self.queued.len())).collect::<Vec<_>>() {
            match job {
                Job::Read { thread, host } => answers.push((host, self.read(thread))),
                Job::Append { thread, host, record, reference } => {
                    let seq = record.expected;
                    let result = self.append(thread, record, reference, luck, &mut grown);
                    answers.push((host, Answer::Appended { seq, result }));
                }
            }
        }
        (answers, grown)
    }

    fn append(
        &mut self,
        thread: usize,
        record: Record,
        reference: Option<usize>,
        luck: Luck,
        grown: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        let length = self.durable[thread].len();
        match luck {
            Luck::Refused => return Err(Fault::Refused),
            Luck::Lost => return Err(Fault::Unknown),
            Luck::Good | Luck::Stored => {}
        }
        if record.expected != length as u64 && self.mistake != Mistake::NoFence {
            return Err(Fault::Conflict);
        }
        if let Some(reference) = reference {
            if let Some(&(thread, seq)) = self.references.get(&reference) {
                return Err(Fault::Duplicate(thread, seq));
            }
            self.references.insert(reference, (thread, length));
        }
        self.durable[thread].push(record);
        grown.push(thread);
        if luck == Luck::Stored { Err(Fault::Unknown) } else { Ok(()) }
    }

    fn read(&self, thread: usize) -> Answer {
        Answer::Log(self.durable[thread].iter().map(|record| Event::clone(&record.event)).collect())
    }

    /// The power is cut: the oldest jobs were still done, nobody hears of it, the rest is gone.
    pub(crate) fn cut(&mut self, done: usize) -> Vec<usize> {
        let (_, grown) = self.flush(done, Luck::Good);
        self.queued.clear();
        grown
    }
}

//! What is owed in a thread, and by whom (section 4 `open_acts`, `due`; 13.4).

use alloc::sync::Arc;

use super::{OpenAct, Thread, asks};
use crate::author::Author;
use crate::event::Message;

impl Thread {
    /// The awaiting acts since the last `decide` that no other author has answered, oldest first. Empty while the
    /// thread is closed or in a side state; back after a reopen.
    pub fn open_acts(&self) -> impl Iterator<Item = &OpenAct> {
        let live = self.standing.state.is_live();
        self.unanswered
            .iter()
            .filter(move |(place, _)| live && *place >= self.settled)
            .map(|(_, owed)| owed)
    }

    /// The debt an awaiting message makes. 13.4: due is the line of the explicit parent's author, if that is another
    /// line than the act's author; else the creator, if another line; else anyone.
    pub(super) fn owe(&self, by: &Author, message: &Message) -> OpenAct {
        let parent = message
            .parent
            .and_then(|parent| self.place(parent))
            .map(|place| &self.said[place].by.line);
        let due =
            [parent, Some(&self.creator)].into_iter().flatten().find(|line| **line != by.line);
        OpenAct {
            message: message.id,
            kind: message.kind,
            by: by.clone(),
            asks: asks(&message.body).into(),
            due: due.map(Arc::clone),
            since: self.events,
        }
    }
}

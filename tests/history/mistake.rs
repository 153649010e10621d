//! Ways to wire a seat wrongly. The simulator has to find every one of them, or its silence means nothing.

/// What is wrong with the wiring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Nothing.
    None,
    /// Readers see an event that is still on its way to the disk.
    PublishBeforeDurable,
    /// A message is acknowledged while it is on its way to the disk.
    AcknowledgeBeforeDurable,
    /// A refusal that rests on an event in flight is given at once.
    RefuseBeforeDurable,
    /// A seat goes on after an append whose outcome it does not know.
    KeepSeatAfterFault,
    /// A replacement reads its log without waiting for the appends in flight (J5).
    LoadOvertakesAppend,
    /// The disk stores an append wherever the stream ends (J2).
    NoFence,
    /// A client repeats a call without its `client_ref`.
    RetryWithoutKey,
    /// What may be stored is answered `unavailable`, which promises that it is not.
    UnknownCalledUnavailable,
    /// A retry is decided on before its reference is looked up.
    DecideBeforeFind,
    /// Two calls with one reference are under way at a time.
    NoReservation,
    /// A reference is free again when its caller hangs up, though its act is still under way.
    ReservationEndsWithCaller,
    /// An unknown outcome is answered before the thread is open again, so that a retry may overtake it.
    AnswerUnknownAtOnce,
}

impl Mistake {
    pub(crate) const ALL: [Self; 12] = [
        Self::PublishBeforeDurable,
        Self::AcknowledgeBeforeDurable,
        Self::RefuseBeforeDurable,
        Self::KeepSeatAfterFault,
        Self::LoadOvertakesAppend,
        Self::NoFence,
        Self::RetryWithoutKey,
        Self::UnknownCalledUnavailable,
        Self::DecideBeforeFind,
        Self::NoReservation,
        Self::ReservationEndsWithCaller,
        Self::AnswerUnknownAtOnce,
    ];
}

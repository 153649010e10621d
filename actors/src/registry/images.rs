//! Images: bytes in streams of their own, each written once and whole.

use std::sync::atomic::Ordering;

use parley_journal::{Append, Numbered, Record, Stream, append_and_wait};
use parley_language::event::Image;
use parley_language::words::ImageType;
use parley_language::{ImageId, MessageId, Reason, Refusal, Speaker};

use super::Registry;
use super::answer::{stored, unavailable};
use super::reaching::unlocked;
use crate::record;

/// How many bytes of an image one record holds.
const PIECE_BYTES: usize = 256 * 1024;

/// What an image is, as its content says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    /// Its type.
    pub kind: ImageType,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
}

impl Registry {
    /// Stores an image and gives it to a message. One append holds all its bytes, so there is the whole image or none;
    /// the message names it only after that.
    ///
    /// # Errors
    /// `not_found`, `thread_closed`, `conflict` for a message with a `url` or an image, `forbidden` for another's
    /// message; `unavailable`, `internal`.
    pub async fn add_image(
        &self,
        message: MessageId,
        speaker: Speaker,
        picture: Picture,
        bytes: &[u8],
    ) -> Result<Image, Refusal> {
        self.may_illustrate(message, &speaker).await?;
        let number = self.0.ids.images.fetch_add(1, Ordering::Relaxed) + 1;
        let image = Image {
            id: ImageId::new(number),
            kind: picture.kind,
            bytes: bytes.len() as u64,
            width: picture.width,
            height: picture.height,
        };
        let numbers = vec![Numbered { series: record::IMAGE_NUMBERS, number }];
        let head = Record { body: record::encode(&image), numbers, ..Record::default() };
        let pieces = bytes
            .chunks(PIECE_BYTES)
            .map(|piece| Record { body: piece.to_vec(), ..Record::default() });
        let append = Append {
            stream: stream(image.id),
            expected: 0,
            records: std::iter::once(head).chain(pieces).collect(),
            note: None,
        };
        append_and_wait(&*self.0.journal, append).await.map_err(stored)?;
        self.illustrate(message, speaker, image.clone()).await?;
        Ok(image)
    }

    /// Whether the thread would say yes, asked before anything is stored. It decides again when it is.
    async fn may_illustrate(&self, message: MessageId, speaker: &Speaker) -> Result<(), Refusal> {
        let view = self.view(self.thread_of(message).await?).await?;
        unlocked(&message.to_string(), &view)?;
        let at = view.said.binary_search_by_key(&message, |said| said.message().id);
        let Some(said) = at.ok().map(|at| &view.said[at]) else { return Ok(()) };
        let shows = said.message().url.is_some() || view.images.contains_key(&message);
        parley_language::thread::illustrable(message, &said.by().line, shows, speaker)
    }

    /// An image with its bytes.
    ///
    /// # Errors
    /// `not_found`, `unavailable`.
    pub async fn image(&self, id: ImageId) -> Result<(Image, Vec<u8>), Refusal> {
        let log = self.0.journal.read(stream(id), 0).await;
        let log = log.map_err(|error| unavailable(&error.to_string()))?;
        let Some((head, pieces)) = log.split_first() else {
            return Err(Refusal::new(Reason::NotFound, format!("there is no {id}")));
        };
        let image: Image =
            record::decode(&head.body).map_err(|error| unavailable(&error.to_string()))?;
        let mut bytes = Vec::with_capacity(usize::try_from(image.bytes).unwrap_or_default());
        pieces.iter().for_each(|piece| bytes.extend_from_slice(&piece.body));
        Ok((image, bytes))
    }
}

fn stream(id: ImageId) -> Stream {
    Stream { kind: record::IMAGES, number: id.number }
}

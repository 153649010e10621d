//! Images of messages (section 2): the content says what an image is, and never its name.

use actix_web::web::Bytes;
use parley_actors::registry::Picture;
use parley_language::event::Image;
use parley_language::reason::{Details, Reason};
use parley_language::words::ImageType;
use parley_language::{ImageId, MessageId, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::forum::Forum;
use crate::operation::File;

/// The types that are taken and given.
pub const MEDIA_TYPES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Give your own message an image: PNG, JPEG, WebP or GIF, at most 5 MiB; the body, or the form field `image`.
#[derive(Deserialize, JsonSchema)]
pub struct PostImage {
    /// The message, like `msg_31`; it has no `url` and no image yet.
    pub id: MessageId,
}

/// An image.
#[derive(Deserialize, JsonSchema)]
pub struct GetImage {
    /// The image, like `img_2`.
    pub id: ImageId,
}

/// An image, named.
#[derive(Serialize, JsonSchema)]
pub struct NamedImage {
    /// The image.
    pub image: ImageObject,
}

/// What is known of an image.
#[derive(Serialize, JsonSchema)]
pub struct ImageObject {
    /// Its id.
    pub id: ImageId,
    /// Its media type.
    #[serde(rename = "type")]
    pub media_type: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
}

impl From<Image> for ImageObject {
    fn from(image: Image) -> Self {
        let Image { id, kind, bytes, width, height } = image;
        Self { id, media_type: kind.media_type(), bytes, width, height }
    }
}

/// Gives a message an image.
///
/// # Errors
/// `image_missing`, `image_type` for what is none of the four, `not_found`, `thread_closed`, `conflict` for a message
/// with a `url` or an image, `forbidden` for another's message.
pub async fn add(
    forum: Forum,
    caller: Caller,
    input: PostImage,
    bytes: Bytes,
) -> Result<NamedImage, Refusal> {
    let picture = recognise(&bytes)?;
    let speaker = caller.speaker(None);
    let image = forum.registry().add_image(input.id, speaker, picture, &bytes).await?;
    Ok(NamedImage { image: image.into() })
}

/// An image.
///
/// # Errors
/// `not_found`.
pub async fn one(forum: Forum, _: Caller, input: GetImage) -> Result<File, Refusal> {
    let (image, bytes) = forum.registry().image(input.id).await?;
    let media_type = image.kind.media_type();
    let name = format!("{}.{}", image.id, media_type.trim_start_matches("image/"));
    Ok(File { media_type, name, bytes: bytes.into() })
}

/// What some bytes are, by their content.
fn recognise(bytes: &[u8]) -> Result<Picture, Refusal> {
    if bytes.is_empty() {
        let error = "there is no image; send it as the body, or as the form field `image`";
        return Err(Refusal::new(Reason::ImageMissing, error));
    }
    let kind = match imagesize::image_type(bytes) {
        Ok(imagesize::ImageType::Png) => ImageType::Png,
        Ok(imagesize::ImageType::Jpeg) => ImageType::Jpeg,
        Ok(imagesize::ImageType::Webp) => ImageType::Webp,
        Ok(imagesize::ImageType::Gif) => ImageType::Gif,
        Ok(_) | Err(_) => return Err(no_image()),
    };
    let size = imagesize::blob_size(bytes).map_err(|_| no_image())?;
    match (u32::try_from(size.width), u32::try_from(size.height)) {
        (Ok(width @ 1..), Ok(height @ 1..)) => Ok(Picture { kind, width, height }),
        _ => Err(no_image()),
    }
}

fn no_image() -> Refusal {
    let error = "this is no PNG, JPEG, WebP or GIF image, whatever it is called; send one of these";
    let allowed = MEDIA_TYPES.iter().map(|kind| (*kind).into()).collect();
    Refusal::new(Reason::ImageType, error).with(Details { allowed, ..Details::default() })
}

//! The index on disk: opening it, feeding it, committing it.

use std::fs;
use std::path::Path;

use tantivy::directory::error::LockError;
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, TantivyDocument};

use crate::searcher::Searcher;
use crate::words::WordTokenizer;
use crate::{Document, Error};

/// The format of the files. To be raised whenever the fields or the rules in [`crate::words`] change: an index of
/// another format starts anew.
const FORMAT: u32 = 1;

/// The name the rules of [`crate::words`] have in the schema.
const TOKENIZER: &str = "words";

/// What the writer may hold in memory before it writes a segment, in bytes.
const WRITER_BYTES: usize = 20_000_000;

/// Segments of fewer documents than this count as the same size when segments are merged.
const SMALL_SEGMENT: u32 = 500;

/// Above [`SMALL_SEGMENT`], segments are of the same size within this power of two.
const SIZE_CLASS: f64 = 3.0;

/// How many segments of the same size are merged into one.
const MERGED: usize = 8;

/// The fields of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) text: Field,
    pub(crate) kind: Field,
    pub(crate) number: Field,
    pub(crate) thread: Field,
    pub(crate) board: Field,
    pub(crate) time: Field,
}

/// The schema of format [`FORMAT`]; the names are those `best.rs` reads columns by.
fn schema() -> (Schema, Fields) {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let mut schema = Schema::builder();
    let fields = Fields {
        text: schema
            .add_text_field("text", TextOptions::from(STORED).set_indexing_options(indexing)),
        kind: schema.add_u64_field("kind", FAST | INDEXED),
        number: schema.add_u64_field("number", FAST),
        thread: schema.add_u64_field("thread", FAST | INDEXED),
        board: schema.add_u64_field("board", FAST | INDEXED),
        time: schema.add_u64_field("time", FAST),
    };
    (schema.build(), fields)
}

/// The writing half of a search index; there is one per folder.
///
/// Its calls block on the disk. It holds some 20 MB of words between commits, and up to 10000 added texts it has not
/// come to yet; who feeds it a long journal should commit every thousand documents or so.
pub struct Index {
    writer: IndexWriter,
    reader: IndexReader,
    fields: Fields,
}

impl Index {
    /// Opens the index in a folder, which is made if it is missing and whose files are the index's alone. Also gives
    /// the position of the last commit: everything up to it is in the index, nothing after it is. It is 0 for a new
    /// index, and for one whose files were damaged, incomplete or of another format and have been deleted.
    ///
    /// All files are read once to see whether they are whole.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if the folder is open already, the others if the disk does not permit an index there.
    pub fn open(folder: impl AsRef<Path>) -> Result<(Self, u64), Error> {
        let folder = folder.as_ref();
        fs::create_dir_all(folder)?;
        let directory = open_directory(folder)?;
        // Before anything is deleted: what looks damaged may be what another process is writing.
        match directory.acquire_lock(&INDEX_WRITER_LOCK) {
            Ok(lock) => drop(lock),
            Err(LockError::LockBusy) => return Err(Error::Busy(folder.to_owned())),
            Err(LockError::IoError(error)) => return Err(Error::Engine(Box::new(error))),
        }
        if let Some((index, position)) = reopen(&directory) {
            match Self::around(&index) {
                Ok(index) => return Ok((index, position)),
                Err(Error::Busy(_)) => return Err(Error::Busy(folder.to_owned())),
                Err(_) => {}
            }
        }
        empty(folder)?;
        let index = tantivy::Index::builder().schema(schema().0).open_or_create(directory)?;
        Ok((Self::around(&index)?, 0))
    }

    /// Puts a writer and a reader around the engine's index.
    fn around(index: &tantivy::Index) -> Result<Self, Error> {
        index.tokenizers().register(TOKENIZER, TextAnalyzer::from(WordTokenizer));
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build();
        let writer = index.writer_with_options(options)?;
        let mut merging = LogMergePolicy::default();
        merging.set_min_num_segments(MERGED);
        merging.set_min_layer_size(SMALL_SEGMENT);
        merging.set_level_log_size(SIZE_CLASS);
        writer.set_merge_policy(Box::new(merging));
        Ok(Self { writer, reader, fields: schema().1 })
    }

    /// Adds a document. It is found after the next [`Index::commit`], and forgotten if none comes.
    ///
    /// Adding a document twice makes it be found twice: the caller adds each once, in the order of its journal.
    ///
    /// # Errors
    ///
    /// [`Error::Engine`] if the engine has given up; the index is to be opened again.
    pub fn add(&mut self, document: Document) -> Result<(), Error> {
        let mut entry = TantivyDocument::default();
        entry.add_text(self.fields.text, document.text);
        entry.add_u64(self.fields.kind, document.kind.code());
        entry.add_u64(self.fields.number, document.number);
        entry.add_u64(self.fields.thread, document.thread);
        entry.add_u64(self.fields.board, document.board);
        entry.add_u64(self.fields.time, document.time);
        self.writer.add_document(entry)?;
        Ok(())
    }

    /// Makes the added documents durable and found, together with the position up to which the caller has now added
    /// everything. When it returns, every [`Searcher`] of this index finds them.
    ///
    /// # Errors
    ///
    /// [`Error::Engine`] if the disk failed. Whether the commit counts shows when the index is opened again.
    pub fn commit(&mut self, position: u64) -> Result<(), Error> {
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(&payload(position));
        commit.commit()?;
        self.reader.reload()?;
        Ok(())
    }

    /// A handle to search with; it sees what is committed later, too.
    pub fn searcher(&self) -> Searcher {
        Searcher::new(self.reader.clone(), self.fields)
    }
}

/// The engine's view of a folder.
fn open_directory(folder: &Path) -> Result<MmapDirectory, Error> {
    MmapDirectory::open(folder).map_err(|error| Error::Engine(Box::new(error)))
}

/// What is written beside the documents of a commit: format and position.
fn payload(position: u64) -> String {
    format!("{FORMAT} {position}")
}

/// The index that is there and its position, if it is whole and of this format. The reason why it is not does not
/// matter: whatever it is, another index takes its place, and a disk that fails will fail that one too.
fn reopen(directory: &MmapDirectory) -> Option<(tantivy::Index, u64)> {
    let index = tantivy::Index::open(directory.clone()).ok()?;
    let payload = index.load_metas().ok()?.payload?;
    let position = payload.strip_prefix(&format!("{FORMAT} "))?.parse().ok()?;
    let whole = index.schema() == schema().0 && is_whole(&index).ok()?;
    whole.then_some((index, position))
}

/// Whether all files of the index are there with the contents they were written with.
fn is_whole(index: &tantivy::Index) -> tantivy::Result<bool> {
    let directory = index.directory();
    for file in index.load_metas()?.list_segment_files() {
        // Listed, but written only where documents are deleted or put into another order, which never happens here.
        let optional = file.extension().is_some_and(|end| end == "del" || end == "temp");
        if !optional && !directory.validate_checksum(&file)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Deletes the files in a folder; the index makes no folders, so those that are there are left alone.
fn empty(folder: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

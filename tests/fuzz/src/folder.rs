//! A log's folder in a few bytes, so that every input is one.
//!
//! Layout, big endian: flags u8 (1 a clean stop, 2 a log start is known, 4 Kafka's cleaner was
//! there), recovery point u16, what was durable u16, log start u16; then for each file its kind u8
//! (an index into [`KINDS`], whatever it is), base offset u16, length u16, content. What is cut off
//! is not there.

/// Bytes before the first file.
const HEAD: usize = 7;
/// Bytes before the content of a file.
const FILE_HEAD: usize = 5;

/// Names of files; those that begin with a dot follow 20 digits.
pub const KINDS: [&str; 17] = [
    ".log",
    ".index",
    ".timeindex",
    ".txnindex",
    ".snapshot",
    ".sum",
    "leader-epoch-checkpoint",
    "partition.metadata",
    "log-start",
    "truncated-to",
    ".log.deleted",
    ".log.swap",
    ".index.swap",
    ".timeindex.swap",
    ".log.cleaned",
    ".txnindex.cleaned",
    ".snapshot.tmp",
];

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What it is, an index into [`KINDS`].
    pub kind: u8,
    /// Its base offset, if its kind has one.
    pub base: u16,
    /// What it holds.
    pub content: Vec<u8>,
}

impl File {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        KINDS[usize::from(self.kind) % KINDS.len()]
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        match self.kind() {
            ending if ending.starts_with('.') => format!("{:020}{ending}", self.base),
            name => name.to_owned(),
        }
    }
}

/// What lies in a log's folder, and what is known of the log from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// See the layout.
    pub flags: u8,
    /// Checked up to here.
    pub recovery_point: u16,
    /// Known to have been durable.
    pub durable: u16,
    /// Where the log starts by the checkpoint.
    pub log_start: u16,
    /// Files; of two with one name the later counts.
    pub files: Vec<File>,
}

impl Folder {
    /// Reads any bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let mut head = [0; HEAD];
        let (first, mut rest) = bytes.split_at(bytes.len().min(HEAD));
        head[..first.len()].copy_from_slice(first);
        let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let mut folder = Self {
            flags: head[0],
            recovery_point: number(1),
            durable: number(3),
            log_start: number(5),
            files: Vec::new(),
        };
        while let Some((head, after)) = rest.split_first_chunk::<FILE_HEAD>() {
            let [kind, base_high, base_low, len_high, len_low] = *head;
            let len = usize::from(u16::from_be_bytes([len_high, len_low])).min(after.len());
            let base = u16::from_be_bytes([base_high, base_low]);
            folder.files.push(File { kind, base, content: after[..len].to_vec() });
            rest = &after[len..];
        }
        folder
    }

    /// The bytes that it is read from.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![self.flags];
        for number in [self.recovery_point, self.durable, self.log_start] {
            bytes.extend(number.to_be_bytes());
        }
        for file in &self.files {
            let len = file.content.len().min(usize::from(u16::MAX));
            bytes.push(file.kind);
            bytes.extend(file.base.to_be_bytes());
            bytes.extend(u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes());
            bytes.extend(&file.content[..len]);
        }
        bytes
    }
}

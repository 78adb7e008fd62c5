//! Makes checksums right after something was changed under them.

use dohle_core::log::sums;
use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader, set_max_timestamp};

use super::folder::Folder;

/// For bytes without a checksum.
pub fn nothing(_: &mut Vec<u8>) {}

/// Every whole batch.
pub fn batches(bytes: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| rest.len() >= BATCH_HEADER_LEN) {
        let Ok(header) = BatchHeader::parse(rest) else { return };
        let Some(batch) = rest.get_mut(..header.total_len()) else { return };
        let _ = set_max_timestamp(batch, header.timestamp_type(), header.max_timestamp);
        at += header.total_len();
    }
}

/// A snapshot of producers.
pub fn snapshot(bytes: &mut Vec<u8>) {
    if bytes.len() >= 6 {
        let crc = crc32c::crc32c(&bytes[6..]);
        bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    }
}

/// Sums of a segment.
pub fn sums(bytes: &mut Vec<u8>) {
    if let Some((content, end)) = bytes.split_last_chunk_mut::<8>() {
        *end = sums::hash(content).to_be_bytes();
    }
}

/// Every file of a folder.
pub fn folder(bytes: &mut Vec<u8>) {
    let mut folder = Folder::read(bytes);
    for file in &mut folder.files {
        match file.kind() {
            ".log" | ".log.swap" => batches(&mut file.content),
            ".snapshot" => snapshot(&mut file.content),
            ".sum" => sums(&mut file.content),
            _ => {}
        }
    }
    *bytes = folder.write();
}

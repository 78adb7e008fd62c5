//! The variants of the formats that clients write.

use dohle_wire::record::{CodecError, Compression};
use lz4::liblz4::BlockChecksum;
use lz4::{BlockMode, BlockSize, ContentChecksum, EncoderBuilder};

use std::io::Write;

use crate::{compress, decompress, text};

fn check(compression: Compression, compressed: &[u8], expected: &[u8]) {
    let out = decompress(compression, compressed, 1 << 20);
    assert!(out.as_deref() == Ok(expected), "{compression}: {:?}", out.map(|out| out.len()));
}

fn lz4_frame(configure: impl FnOnce(&mut EncoderBuilder), src: &[u8]) -> Vec<u8> {
    let mut builder = EncoderBuilder::new();
    configure(&mut builder);
    let mut encoder = builder.build(Vec::new()).unwrap();
    encoder.write_all(src).unwrap();
    let (frame, finished) = encoder.finish();
    finished.unwrap();
    frame
}

#[test]
fn lz4_frames_of_all_kinds_are_read() {
    let src = text(200_000);
    for size in [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB] {
        let frame = lz4_frame(
            |builder| {
                builder
                    .block_mode(BlockMode::Independent)
                    .block_size(size.clone())
                    .block_checksum(BlockChecksum::BlockChecksumEnabled)
                    .checksum(ContentChecksum::ChecksumEnabled)
                    .content_size(200_000);
            },
            &src,
        );
        check(Compression::Lz4, &frame, &src);
    }
}

#[test]
fn lz4_frames_that_java_cannot_read_are_refused() {
    let src = text(200_000);
    let frame = |mode: BlockMode| {
        lz4_frame(
            |builder| {
                builder.block_mode(mode);
            },
            &src,
        )
    };
    let good = frame(BlockMode::Independent);
    check(Compression::Lz4, &good, &src);
    let linked = frame(BlockMode::Linked);
    let damaged = [(3, 0x19), (4, good[4] ^ 0xc0), (4, good[4] | 2), (5, good[5] | 1), (5, 0x30)];
    let damaged = damaged.map(|(at, byte)| {
        let mut frame = good.clone();
        frame[at] = byte;
        frame
    });
    for frame in damaged.iter().chain([&linked, &good[..5].to_vec(), &Vec::new()]) {
        let refused = decompress(Compression::Lz4, frame, 1 << 20);
        assert!(matches!(refused, Err(CodecError::Corrupt { .. })), "{refused:?}");
    }
}

#[test]
fn lz4_checksums_are_verified() {
    let src = text(1_000);
    let mut frame = lz4_frame(
        |builder| {
            builder.block_mode(BlockMode::Independent).checksum(ContentChecksum::ChecksumEnabled);
        },
        &src,
    );
    *frame.last_mut().unwrap() ^= 1;
    let refused = decompress(Compression::Lz4, &frame, 1 << 20);
    assert!(matches!(refused, Err(CodecError::Corrupt { .. })), "{refused:?}");
}

#[test]
fn lz4_is_written_in_independent_blocks_of_64_kib_without_checksums() {
    let frame = compress(Compression::Lz4, None, b"records");
    // Version 1 with independent blocks only; largest block 64 KiB.
    assert_eq!(frame[..6], [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40]);
}

#[test]
fn snappy_is_written_in_xerial_framing() {
    let src = text(40_000);
    let stream = compress(Compression::Snappy, None, &src);
    assert_eq!(stream[..16], *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    let (len, blocks) = stream[16..].split_first_chunk().unwrap();
    let first = &blocks[..u32::from_be_bytes(*len) as usize];
    let block = snap::raw::Decoder::new().decompress_vec(first).unwrap();
    assert_eq!(block, src[..32 << 10]);
}

#[test]
fn bare_snappy_is_read() {
    let src = text(100_000);
    let bare = snap::raw::Encoder::new().compress_vec(&src).unwrap();
    check(Compression::Snappy, &bare, &src);
}

#[test]
fn xerial_streams_one_after_the_other_are_read() {
    let (first, second) = (text(50_000), text(70));
    let streams =
        [compress(Compression::Snappy, None, &first), compress(Compression::Snappy, None, &second)];
    check(Compression::Snappy, &streams.concat(), &[first, second].concat());
}

#[test]
fn gzip_members_one_after_the_other_are_read() {
    let members =
        [compress(Compression::Gzip, None, b"one "), compress(Compression::Gzip, None, b"two")];
    check(Compression::Gzip, &members.concat(), b"one two");
}

#[test]
fn zstd_frames_with_and_without_size_and_checksum_are_read() {
    let src = text(100_000);
    check(Compression::Zstd, &zstd::bulk::compress(&src, 3).unwrap(), &src);
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(&src).unwrap();
    check(Compression::Zstd, &encoder.finish().unwrap(), &src);
}

/// What the Java client makes of [`SENTENCE`] with its default settings.
const JAVA: [(Compression, &str); 4] = [
    (
        Compression::Gzip,
        "1f8b08000000000000ff2b4a4dce2f4a2956c84f53c8cf4b55484a2c49ced05128225a1400b4f566e440000000",
    ),
    (
        Compression::Snappy,
        "82534e415050590000000001000000010000001b40547265636f726473206f66206f6e652062617463682c20a61600",
    ),
    (
        Compression::Lz4,
        "04224d1860408221000000ff077265636f726473206f66206f6e652062617463682c20160012506261746368\
         00000000",
    ),
    (
        Compression::Zstd,
        "28b52ffd0058e40000b07265636f726473206f66206f6e652062617463682c20010026349b010000",
    ),
];

const SENTENCE: &str = "records of one batch, records of one batch, records of one batch";

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn what_the_java_client_writes_is_read() {
    for (compression, hex) in JAVA {
        check(compression, &unhex(hex), SENTENCE.as_bytes());
    }
}

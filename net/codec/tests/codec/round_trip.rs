//! What is compressed is decompressed, at every level and size.

use dohle_codec::NativeCodecs;
use dohle_wire::record::{CodecError, Codecs, Compression};
use proptest::prelude::*;

use crate::{COMPRESSED, compress, decompress, text};

fn check(compression: Compression, level: Option<i32>, src: &[u8]) {
    let compressed = compress(compression, level, src);
    let out = decompress(compression, &compressed, src.len());
    assert!(out.as_deref() == Ok(src), "{compression} {level:?} of {} bytes", src.len());
}

proptest! {
    #[test]
    fn any_bytes_come_back(src: Vec<u8>) {
        for compression in Compression::ALL {
            check(compression, None, &src);
        }
    }
}

#[test]
fn sizes_around_those_of_blocks_come_back() {
    for compression in Compression::ALL {
        for size in [0, 1, 32 << 10, (32 << 10) + 1, (64 << 10) - 1, 64 << 10, 300_000] {
            check(compression, None, &text(size));
        }
    }
}

#[test]
fn every_level_works_and_others_are_brought_into_range() {
    let src = text(50_000);
    for level in (1..=9).chain([-1, 0, i32::MIN, i32::MAX]) {
        check(Compression::Gzip, Some(level), &src);
    }
    for level in (1..=17).chain([0, i32::MIN, i32::MAX]) {
        check(Compression::Lz4, Some(level), &src);
    }
    for level in (1..=22).chain([-131_072, -5, 0, i32::MIN, i32::MAX]) {
        check(Compression::Zstd, Some(level), &src);
    }
    check(Compression::Snappy, Some(3), &src);
}

#[test]
fn a_higher_level_compresses_more() {
    let src = text(200_000);
    for (compression, low, high) in
        [(Compression::Gzip, 1, 9), (Compression::Lz4, 1, 17), (Compression::Zstd, 1, 19)]
    {
        let size = |level| compress(compression, Some(level), &src).len();
        assert!(size(high) < size(low), "{compression}");
    }
}

#[test]
fn output_is_appended() {
    for compression in Compression::ALL {
        let mut out = b"before".to_vec();
        NativeCodecs.compress(compression, None, b"records", &mut out).unwrap();
        let compressed = out.strip_prefix(b"before").unwrap();
        assert_eq!(decompress(compression, compressed, 100).as_deref(), Ok(&b"records"[..]));
    }
}

#[test]
fn the_limit_is_exact() {
    for compression in Compression::ALL {
        for size in [1, 8 << 10, 100_000] {
            let compressed = compress(compression, None, &text(size));
            assert!(decompress(compression, &compressed, size).is_ok());
            let limit = size - 1;
            let refused = Err(CodecError::TooLarge { limit });
            assert_eq!(decompress(compression, &compressed, limit), refused, "{compression}");
        }
    }
}

#[test]
fn all_compressions_but_none_make_records_smaller() {
    let src = text(100_000);
    for compression in COMPRESSED {
        assert!(compress(compression, None, &src).len() < src.len() / 2, "{compression}");
    }
}

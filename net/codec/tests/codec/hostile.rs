//! Broken and malicious input gives errors within bounded memory.

use dohle_wire::record::{CodecError, Compression};

use crate::{COMPRESSED, compress, decompress, text};

const MIB: usize = 1 << 20;

#[test]
fn decompression_bombs_are_refused_at_the_limit() {
    let zeros = vec![0; 64 * MIB];
    for compression in COMPRESSED {
        let bomb = compress(compression, None, &zeros);
        assert!(bomb.len() < 4 * MIB);
        for limit in [0, 1, MIB] {
            let refused = Err(CodecError::TooLarge { limit });
            assert_eq!(decompress(compression, &bomb, limit), refused, "{compression}");
        }
    }
}

#[test]
fn nested_bombs_of_many_gzip_members_are_refused_at_the_limit() {
    let member = compress(Compression::Gzip, None, &vec![0; MIB]);
    let bomb = member.repeat(100);
    let refused = Err(CodecError::TooLarge { limit: 50 * MIB });
    assert_eq!(decompress(Compression::Gzip, &bomb, 50 * MIB), refused);
    assert_eq!(decompress(Compression::Gzip, &bomb, 100 * MIB).map(|out| out.len()), Ok(100 * MIB));
}

#[test]
fn bare_snappy_that_announces_much_and_holds_little_is_refused() {
    // A length of 2^30 - 1 in five bytes.
    let announced = [0xff, 0xff, 0xff, 0xff, 0x03];
    let refused = decompress(Compression::Snappy, &announced, usize::MAX);
    assert!(matches!(refused, Err(CodecError::Corrupt { .. })), "{refused:?}");
}

#[test]
fn a_zstd_window_beyond_that_of_the_highest_level_is_refused() {
    // A frame header with the window's logarithm less 10 in its last byte, and an empty block.
    let frame = |log: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 1, 0, 0];
    for log in [28, 31, 41] {
        let refused = decompress(Compression::Zstd, &frame(log), MIB);
        assert!(matches!(refused, Err(CodecError::Corrupt { .. })), "{log}: {refused:?}");
    }
    assert_eq!(decompress(Compression::Zstd, &frame(27), MIB), Ok(Vec::new()));
}

#[test]
fn input_cut_off_at_any_byte_is_refused() {
    let src = text(1_000);
    for compression in COMPRESSED {
        let compressed = compress(compression, None, &src);
        for len in 1..compressed.len() {
            let out = decompress(compression, &compressed[..len], src.len());
            // A snappy stream has no end mark: it may stop between header and first block.
            let is_header = compression == Compression::Snappy && len == 16;
            assert!(out.is_err() || is_header, "{compression} cut to {len}");
        }
    }
}

#[test]
fn mutated_input_does_not_panic_or_exceed_the_limit() {
    let src = text(3_000);
    for compression in COMPRESSED {
        let compressed = compress(compression, None, &src);
        for round in 0..5_000usize {
            let mut mutant = compressed.clone();
            for step in 0..=round % 3 {
                let at = round.wrapping_mul(7_919).wrapping_add(step * 104_729) % mutant.len();
                mutant[at] ^= (round % 255 + 1) as u8;
            }
            let _ = decompress(compression, &mutant, 10_000);
        }
    }
}

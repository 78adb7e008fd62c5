//! Ids that the coordinator gives to members.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::request::MemberId;

/// Bytes of a client's name in its member id, at most: with the rest it is a string of the protocol.
const PREFIX_MAX: usize = 32_000;

/// Draws member ids.
#[derive(Clone, Debug)]
pub(super) struct MemberIds(ChaCha8Rng);

impl MemberIds {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// An id that nobody has, and that fits into an answer: what the member calls itself and a random UUID. A coordinator that
    /// was given the seed of an earlier one draws the ids of members that it remembers again.
    pub(super) fn fresh(&mut self, prefix: &str, taken: impl Fn(&str) -> bool) -> MemberId {
        let prefix = &prefix[..prefix.floor_char_boundary(PREFIX_MAX)];
        loop {
            let id = format!("{prefix}-{}", self.uuid());
            if !taken(&id) {
                return id.into();
            }
        }
    }

    /// A random UUID (version 4) as Java prints it.
    fn uuid(&mut self) -> String {
        let mut bytes = [0; 16];
        self.0.fill_bytes(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = format!("{:032x}", u128::from_be_bytes(bytes));
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_name_and_a_random_uuid() {
        let id = MemberIds::new(7).fresh("app", |_| false);
        let parts: Vec<_> = id.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [3, 8, 4, 4, 4, 12]);
        assert!(parts[3].starts_with('4'), "version 4: {id}");
        assert!(parts[4].starts_with(['8', '9', 'a', 'b']), "variant 1: {id}");
    }

    #[test]
    fn an_id_fits_into_an_answer() {
        let long = "é".repeat(16_383);
        let id = MemberIds::new(7).fresh(&long, |_| false);
        assert!(id.len() <= i16::MAX as usize && id.starts_with('é'));
    }

    #[test]
    fn an_id_that_is_taken_is_not_given() {
        let first = MemberIds::new(7).fresh("app", |_| false);
        assert_ne!(MemberIds::new(7).fresh("app", |id| id == &*first), first);
    }
}

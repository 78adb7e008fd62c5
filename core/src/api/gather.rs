//! The parts of one request that are answered by several units, or by none.

use crate::time::Instant;

use super::Progress;

/// Results in the order of the request's items: some known from the start, the others asked for.
#[derive(Clone, Debug)]
pub(crate) struct Gather<T> {
    parts: Vec<Option<T>>,
    missing: usize,
    deadline: Instant,
}

impl<T> Gather<T> {
    /// Nothing yet; answers are waited for until `deadline`.
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { parts: Vec::new(), missing: 0, deadline }
    }

    /// Adds an item whose result is known.
    pub(crate) fn known(&mut self, result: T) {
        self.parts.push(Some(result));
    }

    /// Adds an item that is asked for; gives the mark for [`Self::put`].
    pub(crate) fn ask(&mut self) -> u32 {
        let mark = u32::try_from(self.parts.len()).expect("a frame has fewer items than 2^32");
        self.parts.push(None);
        self.missing += 1;
        mark
    }

    /// Adds `count` items that are asked for all at once; see [`Self::fill`].
    pub(crate) fn ask_many(&mut self, count: usize) {
        for _ in 0..count {
            self.ask();
        }
    }

    /// Takes the result of an item. One that is not missing stays as it is.
    pub(crate) fn put(&mut self, mark: u32, result: T) -> Progress {
        if let Some(part @ None) = self.parts.get_mut(mark as usize) {
            *part = Some(result);
            self.missing -= 1;
        }
        self.progress()
    }

    /// Gives results in order to the items that miss one; items beyond them keep missing it.
    pub(crate) fn fill(&mut self, results: impl IntoIterator<Item = T>) -> Progress {
        let empty = self.parts.iter_mut().filter(|part| part.is_none());
        for (part, result) in empty.zip(results) {
            *part = Some(result);
            self.missing -= 1;
        }
        self.progress()
    }

    /// Whether any item still misses its result.
    pub(crate) fn progress(&self) -> Progress {
        Progress::complete_if(self.missing == 0)
    }

    /// Until when answers are waited for.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// All results in the order of the items; `late` stands in for the missing ones.
    pub(crate) fn finish(self, late: impl Fn() -> T) -> impl Iterator<Item = T> {
        self.parts.into_iter().map(move |part| part.unwrap_or_else(&late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let mut gather = Gather::until(Instant(0));
        gather.known("a");
        let (b, c) = (gather.ask(), gather.ask());
        assert_eq!(gather.put(c, "c"), Progress::Waiting);
        assert_eq!(gather.put(c, "again"), Progress::Waiting);
        assert_eq!(gather.put(77, "unknown"), Progress::Waiting);
        assert_eq!(gather.put(b, "b"), Progress::Complete);
        assert_eq!(gather.finish(|| "late").collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn filling_skips_what_is_known_and_stops_with_the_results() {
        let mut gather = Gather::until(Instant(0));
        gather.ask();
        gather.known("b");
        gather.ask();
        gather.ask();
        assert_eq!(gather.fill(["a", "c"]), Progress::Waiting);
        assert_eq!(gather.finish(|| "late").collect::<Vec<_>>(), ["a", "b", "c", "late"]);
    }
}

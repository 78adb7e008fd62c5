//! What a walk finds.

use dohle_wire::id::Offset;

/// How bad a finding is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something that was there is there no more, or not what it was.
    Damage,
    /// What a crash leaves; the next start cuts it off or makes it anew.
    Torn,
    /// Nothing is lost, but an operator may want to know.
    Warning,
}

impl Severity {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Torn => "torn",
            Self::Warning => "warning",
        }
    }
}

/// Something in a file that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What was looked at.
    pub check: &'static str,
    /// Where in the file.
    pub position: Option<u64>,
    /// The offset of the log that it is about.
    pub offset: Option<Offset>,
    /// What should be there.
    pub expected: String,
    /// What is.
    pub found: String,
    /// How many findings this one stands for: the last of a file may stand for many.
    pub times: u64,
}

impl Problem {
    /// A damage.
    pub fn new(check: &'static str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            severity: Severity::Damage,
            check,
            position: None,
            offset: None,
            expected: expected.into(),
            found: found.into(),
            times: 1,
        }
    }

    /// The same, at a position.
    #[must_use]
    pub fn at(mut self, position: u64) -> Self {
        self.position = Some(position);
        self
    }

    /// The same, about an offset.
    #[must_use]
    pub fn about(mut self, offset: Offset) -> Self {
        self.offset = Some(offset);
        self
    }

    /// The same, as bad as this.
    #[must_use]
    pub fn is(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// A problem and the file that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file's path below the root.
    pub file: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with one file.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
    more: u64,
    worst: Option<Severity>,
}

/// Most problems of one file that are told one by one.
pub(super) const PROBLEMS_MAX: usize = 1000;

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        if self.list.len() < PROBLEMS_MAX {
            self.list.push(problem);
        } else {
            self.more += 1;
            self.worst = self.worst.min(Some(problem.severity)).or(Some(problem.severity));
        }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The problems; beyond the limit, one for all the rest.
    #[must_use]
    pub fn into_all(mut self) -> Vec<Problem> {
        if let Some(worst) = self.worst {
            let found = format!("{} more findings", self.more);
            let rest = Problem::new("limit", format!("at most {PROBLEMS_MAX}"), found).is(worst);
            self.list.push(Problem { times: self.more, ..rest });
        }
        self.list
    }

    /// The same problems, none worse than `severity`.
    #[must_use]
    pub fn at_most(mut self, severity: Severity) -> Self {
        self.list.iter_mut().for_each(|each| each.severity = each.severity.max(severity));
        self.worst = self.worst.map(|worst| worst.max(severity));
        self
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self { list: vec![problem], ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_one_stands_for_the_rest() {
        let mut problems = Problems::default();
        for _ in 0..PROBLEMS_MAX {
            problems.push(Problem::new("x", "", "").is(Severity::Warning));
        }
        problems.push(Problem::new("x", "", "").is(Severity::Torn));
        problems.push(Problem::new("x", "", ""));
        problems.push(Problem::new("x", "", "").is(Severity::Torn));
        let all = problems.clone().into_all();
        assert_eq!(all.len(), PROBLEMS_MAX + 1);
        assert_eq!((all[PROBLEMS_MAX].severity, all[PROBLEMS_MAX].times), (Severity::Damage, 3));
        let all = problems.at_most(Severity::Torn).into_all();
        assert_eq!(all[0].severity, Severity::Warning);
        assert_eq!(all[PROBLEMS_MAX].severity, Severity::Torn);
    }
}

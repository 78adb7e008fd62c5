//! Sums beside closed segments.

use super::*;
use crate::log::names::FileKind;
use crate::log::sums::{FileSums, Hasher, Owner, SUMMED, Sums};

const SUMS: &str = "t-0/00000000000000000010.sum";
const INDEX: &str = "t-0/00000000000000000010.index";
const TIMES: &str = "t-0/00000000000000000010.timeindex";

/// The sums of the first segment, as it is.
fn sums(tree: &Tree) -> Sums {
    let files = SUMMED.into_iter().filter_map(|kind: FileKind| {
        let content = tree.0.get(&format!("t-0/{}", kind.name(Offset(10))))?;
        let (size, stamp) = (content.len() as u64, Stamp(1));
        Some(FileSums { kind, size, stamp, blocks: Hasher::of(content) })
    });
    let owner =
        Owner { topic: id(), partition: dohle_wire::id::PartitionIndex(0), base: Offset(10) };
    Sums { owner, files: files.collect() }
}

fn sealed() -> Tree {
    let mut tree = sound();
    let file = sums(&tree).encode().to_vec();
    tree.0.insert(SUMS.to_owned(), file);
    tree
}

fn check_sealed(
    change: impl FnOnce(&mut Tree),
    expected: &[(Severity, &str, &str)],
) -> Vec<Finding> {
    check(
        |tree| {
            *tree = sealed();
            change(tree);
        },
        expected,
    )
}

#[test]
fn with_sums_every_flip_of_a_closed_segment_is_damage() {
    let sealed = sealed();
    let closed = |path: &&String| path.contains("/00000000000000000010.");
    for path in sealed.0.keys().filter(closed) {
        for at in 0..sealed.0[path].len() {
            for bit in 0..8 {
                let mut tree = sealed.clone();
                file(&mut tree, path)[at] ^= 1 << bit;
                let (findings, ..) = survey(&tree);
                let is = |each: &Finding| each.problem.severity == Damage && each.file == *path;
                assert!(findings.iter().any(is), "{path} at {at}, bit {bit}: {findings:#?}");
            }
        }
    }
}

#[test]
fn what_only_sums_tell() {
    check_sealed(|_| (), &[]);
    // The offset of a time is another one in the same batch.
    let damaged = [(Damage, TIMES, "sums")];
    let findings = check_sealed(|tree| file(tree, TIMES)[23] -= 1, &damaged);
    assert_eq!(findings[0].problem.position, Some(0));
    // That there was a file which most segments do not need.
    let aborted = "t-0/00000000000000000010.txnindex";
    let said = |tree: &mut Tree| {
        tree.0.insert(aborted.to_owned(), vec![0xff; 34]);
        let file = sums(tree).encode().to_vec();
        tree.0.insert(SUMS.to_owned(), file);
    };
    let missing = [(Warning, aborted, "missing")];
    check_sealed(|tree| (said(tree), drop(tree.0.remove(aborted))).1, &missing);
}

#[test]
fn sums_of_what_was_written_since_are_a_warning_at_most() {
    let written = |path: &'static str, at: usize| {
        move |tree: &mut Tree| {
            tree.1.insert(path.to_owned(), Stamp(2));
            file(tree, path)[at] -= 1;
        }
    };
    check_sealed(written(TIMES, 23), &[(Warning, TIMES, "sums")]);
    let touched = |tree: &mut Tree| {
        tree.1.insert(FIRST.to_owned(), Stamp(2));
    };
    check_sealed(touched, &[]);
    // Cut by another broker, which goes on behind.
    let cut = |tree: &mut Tree| {
        let third = batch(15, 1, 1).len();
        let len = file(tree, FIRST).len() - third;
        file(tree, FIRST).truncate(len);
        file(tree, INDEX).truncate(8);
        file(tree, TIMES).truncate(24);
        for kind in ["log", "index", "timeindex"] {
            tree.0.remove(&format!("t-0/00000000000000000016.{kind}"));
        }
        segment(
            tree,
            15,
            &[batch(15, 2, 1), batch(17, 4, 3), batch(21, 1, 3)],
            &mut ProducerTable::default(),
        );
    };
    check_sealed(cut, &[]);
}

#[test]
fn sums_of_something_else_say_nothing() {
    let owned = |change: fn(&mut Owner)| {
        move |tree: &mut Tree| {
            let mut sums = sums(tree);
            change(&mut sums.owner);
            sums.files[0].blocks[0] ^= 1;
            tree.0.insert(SUMS.to_owned(), sums.encode().to_vec());
        }
    };
    let foreign = [(Warning, SUMS, "sums")];
    check_sealed(owned(|owner| owner.topic = TopicId(Uuid::from_u128(2 << 100))), &foreign);
    check_sealed(owned(|owner| owner.partition.0 += 1), &foreign);
    check_sealed(owned(|owner| owner.base.0 += 1), &foreign);
    check_sealed(owned(|_| ()), &[(Damage, FIRST, "sums")]);
    let damaged = [(Damage, SUMS, "sums")];
    check_sealed(|tree| file(tree, SUMS)[30] ^= 1, &damaged);
    check_sealed(|tree| file(tree, SUMS).truncate(30), &damaged);
    check_sealed(|tree| file(tree, SUMS).extend([0; 9]), &damaged);
    let orphan = "t-0/00000000000000000013.sum";
    check_sealed(put(orphan, ""), &[(Warning, orphan, "stray")]);
}

#[test]
fn sums_can_be_looked_at_alone() {
    let mut tree = sealed();
    file(&mut tree, SUMS)[30] ^= 1;
    let mut files = Vec::new();
    let mut on_finding = |finding: Finding| files.push(finding.file);
    let mut survey = Survey::new(&mut tree, &NoCodecs, true, &mut on_finding);
    assert_eq!(survey.file(SUMS), Ok(true));
    assert_eq!(files, [SUMS]);
}

//! Every order of events of a small world, not a drawn one: a bounded model check.
//!
//! [`explore`] goes breadth first through all states that a [`World`] can get into, and asks each
//! whether it is one that must not be. States are told apart by fingerprints of 64 bits; among the
//! millions of a search two would be taken for one with a chance of one in ten thousand at most.
//! The shortest way to a bad state is shown as the actions that lead there.
//!
//! What is too large for that [`wander`] looks into here and there, and much deeper.
//!
//! A world is the machine that runs in production, with the least around it: see [`quorum`].

pub mod quorum;

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What can be explored.
pub trait World: Clone + Hash {
    /// One thing that can happen.
    type Action: Clone + Debug;

    /// All that can happen next.
    fn actions(&self) -> Vec<Self::Action>;

    /// Lets it happen.
    ///
    /// # Errors
    /// What must not be, as it is now.
    fn act(&mut self, action: &Self::Action) -> Result<(), String>;
}

/// How far to go.
#[derive(Copy, Clone, Debug)]
pub struct Limits {
    /// So many states.
    pub states: usize,
    /// So long.
    pub time: Duration,
}

/// How far a search came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Different states.
    pub states: usize,
    /// Actions taken.
    pub transitions: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// Nothing was left out: there are no other states.
    pub complete: bool,
}

/// A way to what must not be.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// What must not be.
    pub why: String,
    /// What happened, in order.
    pub path: Vec<String>,
}

/// Walks through all states that can come of `first`.
///
/// # Errors
/// A shortest way to a state that must not be.
pub fn explore<W: World>(first: W, limits: Limits) -> Result<Explored, Counterexample> {
    let began = Instant::now();
    let origin = fingerprint(&first);
    let mut seen: HashMap<u64, u64> = HashMap::from([(origin, origin)]);
    let mut layer = vec![(origin, first.clone())];
    let mut explored = Explored { states: 1, transitions: 0, depth: 0, complete: true };
    while !layer.is_empty() {
        let mut next = Vec::new();
        for (from, world) in layer {
            if explored.states >= limits.states || began.elapsed() >= limits.time {
                explored.complete = false;
                return Ok(explored);
            }
            for action in world.actions() {
                explored.transitions += 1;
                let mut after = world.clone();
                if let Err(why) = after.act(&action) {
                    return Err(retrace(first, &seen, from, &action, why));
                }
                let print = fingerprint(&after);
                if let Entry::Vacant(place) = seen.entry(print) {
                    place.insert(from);
                    explored.states += 1;
                    next.push((print, after));
                }
            }
        }
        explored.depth += usize::from(!next.is_empty());
        layer = next;
    }
    Ok(explored)
}

/// Walks a way that is drawn from `seed`, for so many actions or until nothing can happen any more;
/// gives where it ends, and after how many actions.
///
/// # Errors
/// The way, if it leads to a state that must not be.
pub fn wander<W: World>(first: W, seed: u64, most: usize) -> Result<(W, usize), Counterexample> {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let (mut world, mut path) = (first, Vec::new());
    loop {
        let mut actions = world.actions();
        if actions.is_empty() || path.len() == most {
            return Ok((world, path.len()));
        }
        let action = actions.swap_remove(dice.next_u32() as usize % actions.len());
        path.push(format!("{action:?}"));
        if let Err(why) = world.act(&action) {
            return Err(Counterexample { why, path });
        }
    }
}

fn fingerprint(world: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

/// Finds the actions again that led to `last`.
fn retrace<W: World>(
    first: W,
    seen: &HashMap<u64, u64>,
    last: u64,
    action: &W::Action,
    why: String,
) -> Counterexample {
    let mut prints = vec![last];
    while let Some(before) = prints.last().and_then(|print| seen.get(print))
        && Some(before) != prints.last()
    {
        prints.push(*before);
    }
    let (mut world, mut path) = (first, Vec::new());
    for print in prints.iter().rev().skip(1) {
        for action in world.actions() {
            let mut after = world.clone();
            if after.act(&action).is_ok() && fingerprint(&after) == *print {
                path.push(format!("{action:?}"));
                world = after;
                break;
            }
        }
    }
    path.push(format!("{action:?}"));
    Counterexample { why, path }
}

//! A scenario's world, whichever it is, from its first moment to its last check.

use dohle_core::mutant::Mutants;
use serde::{Deserialize, Serialize};

use crate::choice::{Choice, Choices};
use crate::fault::Fault;
use crate::kernel::Kernel;
use crate::log::{LogSwarm, LogWorld};
use crate::scenario::{self, Gates, Scenario};
use crate::swarm::Swarm;
use crate::world::{Halt, World};

/// The configuration that a seed stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Drawn {
    /// Of a node with clients.
    Node(Box<Swarm>),
    /// Of a log.
    Log(Box<LogSwarm>),
}

impl Drawn {
    /// Draws the configuration of a scenario. `length` overrides how long faults go on.
    pub fn new(scenario: Scenario, choices: &mut Choices, length: Option<u64>) -> Self {
        match scenario {
            Scenario::Single => {
                let swarm = Swarm::single(choices);
                let length = length.unwrap_or(swarm.length);
                Self::Node(Box::new(Swarm { length, ..swarm }))
            }
            Scenario::Log => {
                let swarm = LogSwarm::draw(choices);
                let acts = length.map_or(swarm.acts, |length| length / swarm.pause);
                Self::Log(Box::new(LogSwarm { acts, ..swarm }))
            }
        }
    }

    /// Whether nothing acknowledged may be lost with power.
    #[must_use]
    pub fn fsync(&self) -> bool {
        match self {
            Self::Node(swarm) => swarm.fsync,
            Self::Log(swarm) => swarm.fsync,
        }
    }

    /// Whether the nemesis does that.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        match self {
            Self::Node(swarm) => swarm.has(fault),
            Self::Log(swarm) => swarm.faults.contains(&fault),
        }
    }
}

/// A world.
pub(crate) enum Stage {
    Node(Box<World>, Box<Swarm>),
    Log(Box<LogWorld>),
}

/// What any world knows of its run.
pub(crate) struct Facts {
    pub(crate) event: u64,
    pub(crate) time: u64,
    pub(crate) digest: u64,
    pub(crate) lines: Vec<String>,
    pub(crate) choices: Vec<Choice>,
}

impl Facts {
    fn of<E>(kernel: &Kernel<E>) -> Self {
        Self {
            event: kernel.event,
            time: kernel.time,
            digest: kernel.digest.value(),
            lines: kernel.lines().to_vec(),
            choices: kernel.choices.log(),
        }
    }
}

impl Stage {
    /// The world in its first moment. `blind`: only what is known from outside is checked.
    pub(crate) fn new(drawn: Drawn, choices: Choices, mutants: Mutants, blind: bool) -> Self {
        match drawn {
            Drawn::Node(swarm) => {
                Self::Node(Box::new(scenario::populate(choices, &swarm, mutants)), swarm)
            }
            Drawn::Log(swarm) => {
                Self::Log(Box::new(LogWorld::new(choices, *swarm, mutants, blind)))
            }
        }
    }

    pub(crate) fn trace(&mut self) {
        match self {
            Self::Node(world, _) => world.kernel.trace(),
            Self::Log(world) => world.kernel.trace(),
        }
    }

    pub(crate) fn stop_at(&mut self, event: u64) {
        match self {
            Self::Node(world, _) => world.stop_at(event),
            Self::Log(world) => world.stop_at(event),
        }
    }

    pub(crate) fn be_paranoid(&mut self) {
        match self {
            Self::Node(world, _) => world.be_paranoid(),
            Self::Log(world) => world.be_paranoid(),
        }
    }

    pub(crate) fn play(&mut self) -> Result<(), Halt> {
        match self {
            Self::Node(world, swarm) => scenario::single(world, swarm),
            Self::Log(world) => world.play(),
        }
    }

    pub(crate) fn gates(&self) -> Gates {
        match self {
            Self::Node(world, swarm) => Gates::of(world, swarm),
            Self::Log(world) => world.gates(),
        }
    }

    pub(crate) fn facts(&self) -> Facts {
        match self {
            Self::Node(world, _) => Facts::of(&world.kernel),
            Self::Log(world) => Facts::of(&world.kernel),
        }
    }

    /// How many records, or batches, were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        match self {
            Self::Node(world, _) => world.oracles.counts().acknowledged,
            Self::Log(world) => world.acknowledged(),
        }
    }

    /// Acknowledged batches that power was allowed to take.
    pub(crate) fn allowed_losses(&self) -> u64 {
        match self {
            Self::Node(world, _) => world.oracles.armed.allowed_losses,
            Self::Log(world) => world.allowed_losses(),
        }
    }

    pub(crate) fn state(&self) -> String {
        match self {
            Self::Node(world, _) => world.state(),
            Self::Log(world) => world.state(),
        }
    }
}

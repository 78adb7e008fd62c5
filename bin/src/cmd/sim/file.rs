//! A failure as a file: enough to play it again, and to be read by a person.

use std::path::Path;

use dohle_sim::choice::{Choice, Script, Stream};
use dohle_sim::run::{Outcome, Plan};
use dohle_sim::scenario::Scenario;
use serde_json::{Value, json};

/// The text of the file for a failed run that kept its choices.
pub(super) fn text(scenario: Scenario, outcome: &Outcome) -> String {
    let choices = outcome.choices.iter();
    let choices: Vec<_> =
        choices.map(|choice| json!([choice.stream.name(), choice.label, choice.value])).collect();
    let object = json!({
        "scenario": scenario.name(),
        "seed": outcome.seed,
        "failure": outcome.failure,
        "swarm": outcome.swarm,
        "digest": format!("{:016x}", outcome.digest),
        "choices": choices,
    });
    format!("{object}\n")
}

/// Reads such a file.
pub(super) fn read(path: &Path) -> Result<Plan, String> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|why| format!("{name}: {why}"))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|why| format!("{name}: {why}"))?;
    parse(&value).ok_or_else(|| format!("{name} is not a failure that `dohle sim hunt` kept"))
}

fn parse(value: &Value) -> Option<Plan> {
    let scenario = Scenario::named(value["scenario"].as_str()?)?;
    let mut plan = Plan::new(scenario, value["seed"].as_u64()?);
    let choices = value["choices"].as_array()?.iter().map(choice).collect::<Option<Vec<_>>>()?;
    plan.script = Some(Script::new(choices));
    Some(plan)
}

fn choice(value: &Value) -> Option<Choice> {
    Some(Choice {
        stream: Stream::named(value[0].as_str()?)?,
        label: value[1].as_str()?.to_owned(),
        value: value[2].as_u64()?,
    })
}

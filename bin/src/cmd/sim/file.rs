//! A failure as a file: enough to play it again, and to be read by a person.

use std::path::Path;

use dohle_sim::choice::{Choice, Script, Stream};
use dohle_sim::run::{Outcome, Plan};
use dohle_sim::scenario::Scenario;
use dohle_sim::shrink::Shrunk;
use serde_json::{Value, json};

/// The text of the file for a failed run that kept its choices.
pub(super) fn text(scenario: Scenario, outcome: &Outcome) -> String {
    format!("{}\n", object(scenario, outcome))
}

/// The text of the file for a run that was made smaller.
pub(super) fn shrunk_text(scenario: Scenario, shrunk: &Shrunk) -> String {
    let mut object = object(scenario, &shrunk.outcome);
    object["shrunk"] = json!(shrunk.progress);
    format!("{object}\n")
}

fn object(scenario: Scenario, outcome: &Outcome) -> Value {
    let choices = outcome.choices.iter();
    let choices: Vec<_> =
        choices.map(|choice| json!([choice.stream.name(), choice.label, choice.value])).collect();
    json!({
        "scenario": scenario.name(),
        "seed": outcome.seed,
        "failure": outcome.failure,
        "swarm": outcome.swarm,
        "digest": format!("{:016x}", outcome.digest),
        "choices": choices,
    })
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
    let script = Script::new(choices);
    // What was left out of it does not happen.
    let limited = value["shrunk"].is_object();
    plan.script = Some(if limited { script.limited() } else { script });
    Some(plan)
}

fn choice(value: &Value) -> Option<Choice> {
    Some(Choice {
        stream: Stream::named(value[0].as_str()?)?,
        label: value[1].as_str()?.to_owned(),
        value: value[2].as_u64()?,
    })
}

#[cfg(test)]
mod tests {
    use dohle_sim::run::run;
    use dohle_sim::shrink::{Left, Progress};

    use super::*;

    fn played(text: &str) -> u64 {
        let value: Value = serde_json::from_str(text).unwrap();
        run(&parse(&value).unwrap()).digest
    }

    #[test]
    fn what_is_kept_is_played_as_it_was() {
        let whole = run(&Plan { keep_choices: true, ..Plan::new(Scenario::Log, 5) });
        assert_eq!(played(&text(Scenario::Log, &whole)), whole.digest);
        let operation = whole.choices.iter().rposition(|choice| choice.label == "operation");
        let fewer = Script::new(whole.choices[..operation.unwrap() / 2].to_vec()).limited();
        let plan = Plan { script: Some(fewer), keep_choices: true, ..Plan::new(Scenario::Log, 5) };
        let outcome = run(&plan);
        assert_ne!(outcome.digest, whole.digest);
        let left = Left { left: 1, of: 2 };
        let progress = Progress { attempts: 1, faults: left, operations: left };
        let shrunk = Shrunk { outcome, progress, finished: true };
        assert_eq!(played(&shrunk_text(Scenario::Log, &shrunk)), shrunk.outcome.digest);
    }
}

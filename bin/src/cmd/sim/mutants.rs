//! `dohle sim mutants`: how soon which planted bug is found, in a build that can plant them.

use std::process::ExitCode;

use super::ScenarioName;

#[derive(clap::Args, Debug)]
pub(super) struct MutantsArgs {
    /// How many seeds are played for each bug, at most.
    #[arg(long, value_name = "N", default_value_t = 200)]
    seeds_per_mutant: u64,
    /// The bugs of this scenario alone.
    #[arg(long)]
    scenario: Option<ScenarioName>,
    /// This bug alone.
    #[arg(long, value_name = "ID")]
    only: Option<String>,
    /// A list of JSON objects instead of a table.
    #[arg(long)]
    json: bool,
}

#[cfg(not(feature = "mutants"))]
pub(super) fn mutants(_args: &MutantsArgs) -> Result<ExitCode, String> {
    Err("no bugs can be planted in this build; \
         it takes cargo run --release --features mutants -- sim mutants"
        .to_owned())
}

#[cfg(feature = "mutants")]
pub(super) fn mutants(args: &MutantsArgs) -> Result<ExitCode, String> {
    measured::mutants(args)
}

#[cfg(feature = "mutants")]
mod measured {
    use std::time::Instant;

    use dohle_core::mutant::Mutant;
    use dohle_sim::detect::{Search, Watch, can, scenario, search};
    use serde_json::{Value, json};

    use super::super::VIOLATION;
    use super::*;

    /// One row.
    struct Row {
        mutant: Mutant,
        found: Search,
        wall_s: f64,
        oracles: Search,
        black_box: Option<Search>,
    }

    pub(super) fn mutants(args: &MutantsArgs) -> Result<ExitCode, String> {
        let chosen = chosen(args)?;
        let mut rows = Vec::new();
        for mutant in chosen {
            let row = measure(mutant, args.seeds_per_mutant);
            if !args.json {
                println!("{}", line(&row));
            }
            rows.push(row);
        }
        if args.json {
            println!("{}", Value::Array(rows.iter().map(object).collect()));
        }
        let all = rows.iter().all(|row| row.found.violation.is_some());
        Ok(ExitCode::from(if all { 0 } else { VIOLATION }))
    }

    fn chosen(args: &MutantsArgs) -> Result<Vec<Mutant>, String> {
        let mut chosen = Mutant::ALL.to_vec();
        if let Some(id) = &args.only {
            let named = Mutant::named(id).ok_or_else(|| {
                let known = Mutant::ALL.map(Mutant::name).join(", ");
                format!("no bug {id:?}; there are: {known}")
            })?;
            chosen = vec![named];
        }
        if let Some(ScenarioName(wanted)) = args.scenario {
            chosen.retain(|mutant| scenario(*mutant) == wanted);
        }
        Ok(chosen)
    }

    fn measure(mutant: Mutant, seeds: u64) -> Row {
        let place = scenario(mutant);
        let started = Instant::now();
        let found = search(mutant, place, Watch::All, seeds);
        let wall_s = started.elapsed().as_secs_f64();
        let oracles = search(mutant, place, Watch::Oracles, seeds);
        let black_box =
            can(place, Watch::BlackBox).then(|| search(mutant, place, Watch::BlackBox, seeds));
        Row { mutant, found, wall_s, oracles, black_box }
    }

    fn object(row: &Row) -> Value {
        let found = row.found.violation.as_ref();
        json!({
            "id": row.mutant.name(),
            "planted": true,
            "detected": found.is_some(),
            "seeds": row.found.seeds,
            "events": row.found.events,
            "wall_s": row.wall_s,
            "oracle": found.map(|violation| &violation.oracle),
            "detected_without_assertions": row.oracles.violation.is_some(),
            "detected_black_box": row.black_box.as_ref().map(|search| search.violation.is_some()),
        })
    }

    fn line(row: &Row) -> String {
        let after = |search: &Search| match &search.violation {
            Some(violation) => format!("seed {} ({})", search.seeds, violation.oracle),
            None => "not found".to_owned(),
        };
        let black_box = row.black_box.as_ref().map_or_else(|| "-".to_owned(), after);
        format!(
            "{:<30} {:<22} oracles alone: {:<22} from outside: {:<22} {} events, {:.1} s",
            row.mutant.name(),
            after(&row.found),
            after(&row.oracles),
            black_box,
            row.found.events,
            row.wall_s
        )
    }
}

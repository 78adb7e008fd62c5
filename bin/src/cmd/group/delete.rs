//! `dohle group delete` and `dohle group delete-offsets`.

use dohle_wire::ErrorCode;
use serde_json::json;

use super::scope::Scope;
use super::{Groups, about_group, offsets, quoted};
use crate::cmd::client::{Client, Common, none_of, say};
use crate::cmd::cluster::Failure;

/// Delete groups that have no members, with their committed offsets.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    groups: Groups,
    #[command(flatten)]
    common: Common,
}

/// Forget committed offsets of topics that no member of the group subscribes to.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(super) struct OffsetArgs {
    #[command(flatten)]
    groups: Groups,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn delete(args: Args) -> Result<(), Failure> {
    let groups = args.groups.some()?;
    let client = Client::new(&args.common).await?;
    let each = client.or_failed(client.admin.delete_groups(groups).await)?;
    let mut problems = Vec::new();
    for (group, result) in &each {
        match result {
            Ok(()) => {
                let text = format!("deleted group {}", quoted(group));
                say(args.common.json, &text, &json!({"deleted": **group}))?;
            }
            Err(error) => problems.push(about_group(group, error)),
        }
    }
    none_of(&problems)
}

pub(super) async fn delete_offsets(args: OffsetArgs) -> Result<(), Failure> {
    let group = args.groups.one()?;
    let client = Client::new(&args.common).await?;
    let committed = offsets::committed(&client, &group).await?;
    let partitions = args.scope.partitions(&client, &group, &committed).await?;
    let each = client.admin.delete_group_offsets(group.clone(), partitions).await;
    let mut problems = Vec::new();
    for (at, result) in client.or_failed(each)? {
        match result {
            Ok(()) => {
                let object =
                    json!({"group": *group, "topic": *at.topic, "partition": at.partition});
                say(args.common.json, &format!("forgot the offset of {at}"), &object)?;
            }
            Err(error) if error.code == ErrorCode::GroupSubscribedToTopic => {
                problems.push(format!(
                    "{at}: members of group {} subscribe to {}; stop them first",
                    quoted(&group),
                    at.topic
                ));
            }
            Err(error) if error.code == ErrorCode::GroupIdNotFound => {
                return Err(Failure::Failed(about_group(&group, &error)));
            }
            Err(error) => problems.push(format!("{at}: {error}")),
        }
    }
    none_of(&problems)
}

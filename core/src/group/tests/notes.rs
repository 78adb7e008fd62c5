//! What operators read.

use super::*;

#[test]
fn every_rebalance_says_why() {
    let mut world = World::new();
    let reason = Some(Arc::from("rolling\nrestart"));
    world.join(Join { needs_member_id: false, reason: reason.clone(), ..join("") });
    world.wait(DELAY_MS);
    let ids: Vec<MemberId> = world
        .coordinator
        .groups()
        .next()
        .unwrap()
        .1
        .classic()
        .unwrap()
        .members()
        .map(|(id, _)| Arc::clone(id))
        .collect();
    let id = &*ids[0];
    world.sync_all(1, &ids[0], &ids);
    let changed = vec![("range".into(), subscription(&["u"]))];
    world.join(Join { protocols: changed, reason, ..join(id) });
    let members = vec![(id.into(), None, Some("closed".into()))];
    world.sync(id, 2, &[]);
    world.ask(Request::Leave(Leave { group: GROUP.into(), members }));
    let notes = world.notes.join("\n").replace(id, "ID");
    assert_eq!(
        notes,
        "group \"g\", generation 0: rebalances: member \"ID\" joined (\"rolling\\nrestart\")\n\
         group \"g\", generation 1: has 1 member, led by member \"ID\"\n\
         group \"g\", generation 1: rebalances: member \"ID\" changed its subscription (\"rolling\\nrestart\")\n\
         group \"g\", generation 2: has 1 member, led by member \"ID\"\n\
         group \"g\", generation 2: rebalances: member \"ID\" left (\"closed\")\n\
         group \"g\", generation 3: has no members"
    );
}

#[test]
fn members_that_are_late_are_named() {
    let mut world = World::new();
    let ids = world.stable(8);
    world.notes.clear();
    world.wait(SESSION_MS / 2);
    world.beat(&ids[0], 1);
    world.wait(SESSION_MS / 2);
    let note = &world.notes[0];
    assert!(note.starts_with("group \"g\", generation 1: rebalances: members \"app-"), "{note}");
    assert!(note.ends_with("\" and 2 more timed out"), "{note}");
}

"""kafka-consumer-groups: every action, of a group that is empty and of one that has a member.

The tool says that something failed, and ends with exit code 0 all the same: what it says is what is checked.
"""

import time
from datetime import datetime, timezone

from confluent_kafka import TopicPartition

from checks.groups import PARTITIONS, ConfluentMember, Readers
from checks.plumbing import expect, expect_equal
from records import Mismatch, Record

ALL = range(PARTITIONS)
PER_PARTITION = 100


class Tool:
    """One topic with records a minute apart, begun by an empty group, and read by a group with one member."""

    def __init__(self, suite):
        self.suite = suite
        self.topic = suite.create(suite.topic("group-tool"), PARTITIONS)
        self.other = suite.create(suite.topic("group-tool-other"), 1)
        self.base = int(time.time()) * 1000 - PER_PARTITION * 60_000
        records = [Record(p, -1, self.base + i * 60_000, b"k", b"v", ()) for i in range(PER_PARTITION) for p in ALL]
        suite.confluent.produce(self.topic, records)
        suite.confluent.produce(self.other, [Record(0, -1, -1, b"k", b"v", ())] * 10)
        self.empty, self.live = f"{self.topic}-empty", f"{self.topic}-live"
        self.commit(self.empty, {self.topic: {p: 10 for p in ALL}, self.other: {0: 3}})
        readers = Readers(PER_PARTITION * PARTITIONS)
        self.member = ConfluentMember(suite, self.live, self.topic, readers)
        self.member.start()
        suite.wait_until("the member reads", readers.done)

    def commit(self, group, offsets):
        consumer = self.suite.confluent.consumer({"group.id": group})
        places = [TopicPartition(topic, p, offset) for topic, parts in offsets.items() for p, offset in parts.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    def run(self, *args, status=0):
        """What the tool says on both streams."""
        done = self.suite.tools.run("consumer-groups", *args, check=False)
        text = (done.stdout + done.stderr).decode()
        expect_equal(status, done.returncode, f"exit code of {' '.join(args)}, which said {text[:300]!r}")
        return text

    def rows(self, *args):
        """A table that the tool prints: (its head, the rows of these two groups)."""
        lines = [line.split() for line in self.run(*args).splitlines()]
        head = next((line for line in lines if line and line[0] in ("GROUP", "TOPIC")), None)
        expect(head, f"{' '.join(args)} printed no table: {lines}")
        return head, [line for line in lines if line and line[0] in (self.empty, self.live)]

    def says(self, expected, *args, status=0):
        text = self.run(*args, status=status)
        expect(expected in text, f"{' '.join(args)}: expected {expected!r}, it said {text[:400]!r}")

    def expect_committed(self, expected, group=None):
        got = self.suite.committed(group or self.empty, self.topic)
        expect_equal(expected, got, "committed offsets")


class GroupToolChecks:
    def group_tool(self):
        tool = self.check("group-tool begins", Tool, self)
        if not tool:
            return
        try:
            for name, action in (
                ("lists", lists), ("describes-offsets", describes_offsets), ("describes-members", describes_members),
                ("describes-states", describes_states), ("describes-unknown", describes_unknown),
                ("resets-by-place", resets_by_place), ("resets-by-time", resets_by_time), ("resets-from-file", resets_from_file),
                ("resets-in-scope", resets_in_scope), ("resets-are-refused", resets_are_refused),
                ("deletes-offsets", deletes_offsets), ("deletes-groups", deletes_groups), ("validates-regex", validates_regex),
            ):
                self.check(f"group-tool {name}", action, tool)
            # Once more as people run it: a process of its own.
            self.check("group-tool process", process, tool)
        finally:
            self.check("group-tool ends", tool.member.leave)


# -- what there is -------------------------------------------------------------------------------------------------------


def lists(tool):
    names = tool.run("--list").split()
    expect({tool.empty, tool.live} <= set(names), f"the groups are not in the list {names[:20]}")

    def table(columns, expected, *args):
        head, rows = tool.rows("--list", *args)
        expect_equal(["GROUP", *columns], head, "columns")
        expect_equal(expected, {row[0]: row[1:] for row in rows}, f"--list {' '.join(args)}")

    empty, live = tool.empty, tool.live
    table(["STATE"], {empty: ["Empty"], live: ["Stable"]}, "--state")
    table(["STATE"], {live: ["Stable"]}, "--state", "stable")
    table(["STATE"], {empty: ["Empty"], live: ["Stable"]}, "--state", "stable,empty")
    table(["STATE"], {}, "--state", "Dead")
    table(["TYPE"], {empty: ["Classic"], live: ["Classic"]}, "--type")
    table(["TYPE"], {empty: ["Classic"], live: ["Classic"]}, "--type", "classic,consumer")
    table(["TYPE"], {}, "--type", "consumer")
    table(["TYPE", "STATE"], {empty: ["Classic", "Empty"]}, "--type", "classic", "--state", "empty")
    tool.says("Invalid state list 'lost'", "--list", "--state", "lost", status=1)
    tool.says("Invalid types list 'odd'", "--list", "--type", "odd", status=1)


def describes_offsets(tool):
    columns = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID".split()
    for args in ((), ("--offsets",)):
        head, rows = tool.rows("--describe", "--group", tool.empty, *args)
        expect_equal(columns, head, "columns")
        expected = {(tool.topic, str(p), "10", "100", "90", "-", "-", "-") for p in ALL} | {(tool.other, "0", "3", "10", "7", "-", "-", "-")}
        expect_equal(expected, {tuple(row[1:]) for row in rows}, "rows of the empty group")
    tool.says("has no active members", "--describe", "--group", tool.empty)
    head, rows = tool.rows("--describe", "--group", tool.empty, "--offsets", "--verbose")
    expect_equal(columns[:3] + ["LEADER-EPOCH"] + columns[3:], head, "columns")
    expect_equal(PARTITIONS + 1, len(rows), "rows")
    # The member has committed nothing yet; that it has the partitions is known all the same.
    _, rows = tool.rows("--describe", "--group", tool.live, "--offsets")
    expect_equal({(tool.topic, str(p), "-", "100", "-") for p in ALL}, {tuple(row[1:6]) for row in rows}, "rows of the live group")
    clients = {(row[6].rsplit("-", 5)[0], row[7][0], row[8]) for row in rows}
    expect_equal({("interop-confluent-consumer", "/", "interop-confluent-consumer")}, clients, "the member of each partition")


def describes_members(tool):
    columns = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS".split()
    head, rows = tool.rows("--describe", "--group", tool.live, "--members")
    expect_equal(columns, head, "columns")
    expect_equal([["interop-confluent-consumer", str(PARTITIONS)]], [row[3:] for row in rows], "members")
    _, rows = tool.rows("--describe", "--group", tool.live, "--members", "--verbose")
    assignment = f"{tool.topic}:{','.join(map(str, ALL))}"
    expect_equal([["-", assignment, "-", "-"]], [row[5:] for row in rows], "epochs and assignments")
    _, rows = tool.rows("--describe", "--group", tool.empty, "--members")
    expect_equal([], rows, "members of the empty group")


def describes_states(tool):
    node = tool.suite.java.call("cluster")["nodes"][0]

    def state(group, *expected):
        head, rows = tool.rows("--describe", "--group", group, "--state")
        expect_equal("GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS".split(), head, "columns")
        expect_equal([[f"({node})", *expected]], [row[2:] for row in rows], f"state of {group}")

    state(tool.empty, "-", "Empty", "0")
    state(tool.live, "range", "Stable", "1")
    head, rows = tool.rows("--describe", "--group", tool.live, "--state", "--verbose")
    expect_equal("STATE GROUP-EPOCH TARGET-ASSIGNMENT-EPOCH #MEMBERS".split(), head[4:], "columns")
    expect_equal([["Stable", "-", "-", "1"]], [row[4:] for row in rows], "state with epochs")
    _, rows = tool.rows("--describe", "--all-groups", "--state")
    expect_equal({tool.empty: "Empty", tool.live: "Stable"}, {row[0]: row[4] for row in rows}, "states of all groups")
    _, rows = tool.rows("--describe", "--all-groups")
    expect_equal(2 * PARTITIONS + 1, len(rows), "partitions of all groups")
    _, rows = tool.rows("--describe", "--all-groups", "--members")
    expect_equal([tool.live], [row[0] for row in rows], "members of all groups")


def describes_unknown(tool):
    for args in ((), ("--members",), ("--state",)):
        tool.says("GroupIdNotFoundException: Group no-such-group not found.", "--describe", "--group", "no-such-group", *args)


# -- resetting -----------------------------------------------------------------------------------------------------------


def reset(tool, expected, *args, scope=None):
    """First what would be done, which changes nothing, in both forms; then it is done."""
    scope = ("--topic", tool.topic) if scope is None else scope
    before = tool.suite.committed(tool.empty, tool.topic)
    action = ("--reset-offsets", "--group", tool.empty, *scope, *args)
    for how in (("--dry-run",), ("--export",), ("--execute",)):
        text = tool.run(*action, *how)
        if how == ("--export",):
            lines = [line.split(",") for line in text.splitlines() if line.startswith('"') or line.startswith(tool.topic)]
            got = {int(partition): int(offset) for topic, partition, offset in lines if topic.strip('"') == tool.topic}
        else:
            lines = [line.split() for line in text.splitlines()]
            got = {int(line[2]): int(line[3]) for line in lines if line[:2] == [tool.empty, tool.topic]}
        expect_equal(expected, got, f"{' '.join((*args, *how))}")
        tool.expect_committed({**before, **expected} if how == ("--execute",) else before)


def everywhere(offset):
    return {p: offset for p in ALL}


def resets_by_place(tool):
    reset(tool, everywhere(42), "--to-offset", "42")
    reset(tool, everywhere(49), "--shift-by", "7")
    reset(tool, everywhere(46), "--shift-by", "-3")
    reset(tool, everywhere(46), "--to-current")
    reset(tool, everywhere(100), "--to-latest")
    reset(tool, everywhere(0), "--shift-by", "-1000")
    reset(tool, everywhere(100), "--to-offset", "1000")
    reset(tool, everywhere(0), "--to-earliest")
    tool.suite.java.call("delete-records", topic=tool.topic, partition=0, before=5)
    reset(tool, {**everywhere(0), 0: 5}, "--to-earliest")
    reset(tool, {**everywhere(2), 0: 5}, "--to-offset", "2")


def resets_by_time(tool):
    def moment(ms, form):
        return datetime.fromtimestamp(ms / 1000, timezone.utc).strftime(form)

    at = tool.base + 30 * 60_000
    reset(tool, everywhere(30), "--to-datetime", moment(at, "%Y-%m-%dT%H:%M:%S.000Z"))
    reset(tool, everywhere(31), "--to-datetime", moment(at + 1000, "%Y-%m-%dT%H:%M:%S.000Z"))
    reset(tool, everywhere(100), "--to-datetime", moment(at + 10 * 3_600_000, "%Y-%m-%dT%H:%M:%S.000Z"))
    # From now: some seconds more than the age of record 50, which is half a minute from its neighbours' ages.
    age = int(time.time()) - (tool.base // 1000 + 50 * 60)
    reset(tool, everywhere(50), "--by-duration", f"PT{age + 30}S")
    reset(tool, {**everywhere(0), 0: 5}, "--by-duration", "P2D")


def resets_from_file(tool):
    plan = tool.suite.directory / "reset-plan.csv"
    plan.write_text("".join(f"{tool.topic},{p},{p + 20}\n" for p in ALL))
    reset(tool, {p: p + 20 for p in ALL}, "--from-file", str(plan), scope=())
    exported = tool.run("--reset-offsets", "--group", tool.empty, "--all-topics", "--to-current", "--export")
    plan.write_text("".join(line + "\n" for line in exported.splitlines() if tool.topic in line or tool.other in line))
    reset(tool, everywhere(60), "--to-offset", "60")
    reset(tool, {p: p + 20 for p in ALL}, "--from-file", str(plan), scope=())


def resets_in_scope(tool):
    reset(tool, {0: 70, 3: 70}, "--to-offset", "70", scope=("--topic", f"{tool.topic}:0,3"))
    reset(tool, {1: 80}, "--to-offset", "80", scope=("--topic", f"{tool.topic}:1", "--topic", tool.other))
    reset(tool, everywhere(9), "--to-offset", "9", scope=("--all-topics",))
    found = tool.suite.committed(tool.empty, tool.other, 1)
    expect_equal({0: 9}, found, "committed offset of the other topic")
    # A group that nobody has heard of begins by that.
    new = f"{tool.empty}-new"
    tool.run("--reset-offsets", "--group", new, "--topic", tool.topic, "--to-latest", "--execute")
    tool.expect_committed(everywhere(100), new)


def resets_are_refused(tool):
    inactive = f"Assignments can only be reset if the group '{tool.live}' is inactive, but the current state is Stable."
    tool.says(inactive, "--reset-offsets", "--group", tool.live, "--topic", tool.topic, "--to-earliest", "--execute")
    tool.says("This server does not host this topic-partition", "--reset-offsets", "--group", tool.empty, "--topic",
              "no-such-topic", "--to-earliest", "--execute")
    tool.expect_committed(everywhere(-1001), tool.live)


# -- deleting ------------------------------------------------------------------------------------------------------------


def deletes_offsets(tool):
    def deleted(expected, *args):
        text = tool.run("--delete-offsets", *args)
        lines = [line.split(maxsplit=2) for line in text.splitlines()]
        got = {(line[0], line[1]): line[2].strip() for line in lines if line and line[0] in (tool.topic, "no-such-topic")}
        expect(got.keys() == expected.keys() and all(word in got[place] for place, word in expected.items()),
               f"expected {expected}, it said {text[:600]}")

    of_empty = ("--group", tool.empty, "--topic")
    before = tool.suite.committed(tool.empty, tool.topic)
    deleted({(tool.topic, "0"): "Successful"}, *of_empty, f"{tool.topic}:0")
    tool.expect_committed({**before, 0: -1001})
    deleted({(tool.topic, str(p)): "Successful" for p in ALL}, *of_empty, tool.topic)
    tool.expect_committed(everywhere(-1001))
    deleted({("no-such-topic", "-"): "UnknownTopicOrPartitionException"}, *of_empty, "no-such-topic")
    subscribed = {(tool.topic, str(p)): "GroupSubscribedToTopicException" for p in ALL}
    deleted(subscribed, "--group", tool.live, "--topic", tool.topic)
    unknown = {(tool.topic, str(p)): "GroupIdNotFoundException" for p in ALL}
    deleted(unknown, "--group", "no-such-group", "--topic", tool.topic)


def deletes_groups(tool):
    tool.says("GroupNotEmptyException: The group is not empty.", "--delete", "--group", tool.live)
    tool.says("GroupIdNotFoundException: The group id does not exist.", "--delete", "--group", "no-such-group")
    new = f"{tool.empty}-new"
    tool.says("was successful", "--delete", "--group", tool.empty, "--group", new)
    names = set(tool.run("--list").split())
    expect(tool.live in names and not names & {tool.empty, new}, f"the list is {sorted(names)[:20]}")
    tool.says("GroupIdNotFoundException", "--describe", "--group", tool.empty)
    # One that goes and one that stays.
    tool.commit(tool.empty, {tool.topic: {0: 10}})
    text = tool.run("--delete", "--group", tool.empty, "--group", tool.live)
    expect("GroupNotEmptyException" in text and f"These consumer groups were deleted successfully: '{tool.empty}'" in text, text[:400])


def validates_regex(tool):
    tool.says("is valid", "--validate-regex", "orders-[a-z]+")
    tool.says("is invalid", "--validate-regex", "orders-(")


def process(tool):
    text = tool.suite.tools.process("consumer-groups", "--describe", "--group", tool.live, "--members").stdout.decode()
    if "interop-confluent-consumer" not in text:
        raise Mismatch(f"the member is not described: {text}")

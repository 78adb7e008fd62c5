"""kafka-consumer-groups: list, describe, reset, delete offsets, delete."""

from confluent_kafka import TopicPartition

from checks.groups import PARTITIONS, ConfluentMember, Readers
from records import Mismatch


class GroupToolChecks:
    def group_tool(self):
        topic, ends = self.filled("group-tool", 600)
        group = f"{topic}-group"

        def tool(*args):
            return self.tools.run("consumer-groups", *args).stdout.decode()

        def listed():
            consumer = self.confluent.consumer({"group.id": group})
            consumer.commit(offsets=[TopicPartition(topic, p, 10) for p in range(PARTITIONS)], asynchronous=False)
            consumer.close()
            text = tool("--list")
            if group not in text.split():
                raise Mismatch(f"{group} is not in the list: {text[:300]}")

        def described():
            rows = [line.split() for line in tool("--describe", "--group", group, "--offsets").splitlines() if topic in line]
            found = {int(row[2]): (int(row[3]), int(row[4]), int(row[5])) for row in rows}
            expected = {p: (10, ends[p], ends[p] - 10) for p in range(PARTITIONS)}
            if found != expected:
                raise Mismatch(f"described {found}, expected {expected}")
            state = tool("--describe", "--group", group, "--state")
            if "Empty" not in state:
                raise Mismatch(f"the state is not Empty: {state}")

        def members():
            readers = Readers(sum(ends.values()))
            member = ConfluentMember(self, group, topic, readers)
            member.start()
            self.wait_until("the member reads", lambda: readers.seen)
            text = tool("--describe", "--group", group, "--members", "--verbose")
            if "interop-confluent-consumer" not in text or topic not in text:
                raise Mismatch(f"the member is not described: {text}")
            # The tool says that it failed, and exits with 0.
            text = tool("--delete", "--group", group)
            if "failed" not in text or group not in tool("--list").split():
                raise Mismatch(f"a group with a member was deleted: {text}")
            member.leave()

        def reset():
            tool("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
            self.expect_committed(group, topic, {p: 0 for p in range(PARTITIONS)})
            tool("--reset-offsets", "--group", group, "--topic", topic, "--shift-by", "7", "--execute")
            self.expect_committed(group, topic, {p: 7 for p in range(PARTITIONS)})

        def deleted():
            tool("--delete-offsets", "--group", group, "--topic", f"{topic}:0")
            found = self.committed(group, topic)
            if found[0] >= 0 or found[1] != 7:
                raise Mismatch(f"after the deletion of partition 0: {found}")
            tool("--delete", "--group", group)
            if group in tool("--list").split():
                raise Mismatch(f"{group} is still listed")

        for name, action in (("lists", listed), ("describes", described), ("members", members), ("resets", reset), ("deletes", deleted)):
            if self.check(f"group-tool {name}", action) is None:
                break

"""Members of consumer groups, each a process of its own so that it can be killed; what they did, and whether that was right.

A member writes one JSON event a line, each with the time `at` in microseconds of the wall clock, which all of them share:

    assigned {partitions}        these are its own from now on (a client that is told only what is new tells only that)
    revoked {partitions}         these are no longer, and what it read of them is committed as far as it could be
    read {partition first next}  the records from first up to next, without a gap
    committed {offsets}          the broker confirmed these positions
    uncommitted {message}        it refused to: the generation was over, somebody reads these records again
    left, failed {message}
"""

import json
import os
import signal
import subprocess
import threading
import time

from clients import PATIENCE, ClientError
from records import Mismatch


class History:
    """Everything that the members of one group did."""

    def __init__(self, partitions):
        self.partitions, self.events, self.lock = partitions, [], threading.Lock()
        self.seen = {partition: set() for partition in range(partitions)}

    def add(self, member, event):
        with self.lock:
            self.events.append((event["at"], len(self.events), member, event))
            if event["event"] == "read":
                self.seen[event["partition"]].update(range(event["first"], event["next"]))

    def gone(self, member):
        """From now on what it had is nobody's, whatever it believes itself."""
        self.add(member, {"event": "gone", "at": time.time_ns() // 1000})

    def count(self):
        with self.lock:
            return sum(len(offsets) for offsets in self.seen.values())

    def keep(self, path):
        """For whoever has to find out why a story went wrong."""
        with self.lock:
            events = sorted(self.events, key=lambda entry: entry[:2])
        path.write_text("".join(f"{member} {json.dumps(event)}\n" for _, _, member, event in events))

    def check(self, ends):
        """`ends`: where each partition ends. Raises with the first three complaints."""
        with self.lock:
            wrong = list(self.complaints()) + [
                f"partition {partition}: {end - len(self.seen[partition])} of {end} records were not read, "
                f"the first is @{min(set(range(end)) - self.seen[partition])}"
                for partition, end in ends.items() if len(self.seen[partition]) != end
            ]
        if wrong:
            raise Mismatch(f"{len(wrong)} complaints: {'; '.join(wrong[:3])}")

    def complaints(self):
        owners, position, committed = {}, {}, {}
        for at, _, member, event in sorted(self.events, key=lambda entry: entry[:2]):
            kind = event["event"]
            if kind == "assigned":
                for partition in event["partitions"]:
                    if owners.get(partition, member) != member:
                        yield f"partition {partition} was given to {member} while {owners[partition]} had it"
                    owners[partition] = member
                    # Where it has to begin: not in front of what was confirmed by now.
                    position[member, partition] = None, committed.get(partition, 0)
            elif kind in ("revoked", "gone", "left"):
                for partition in event.get("partitions") or [p for p, owner in owners.items() if owner == member]:
                    if owners.get(partition) == member:
                        del owners[partition]
            elif kind == "committed":
                for partition, offset in event["offsets"].items():
                    partition = int(partition)
                    if offset < committed.get(partition, 0):
                        yield f"{member} committed {partition}@{offset} after @{committed[partition]}"
                    committed[partition] = max(offset, committed.get(partition, 0))
            elif kind == "read":
                partition, first = event["partition"], event["first"]
                if (member, partition) not in position:
                    yield f"{member} read {partition}@{first}, which was never assigned to it"
                    continue
                following, least = position[member, partition]
                if following is None and first < least:
                    yield f"{member} began to read {partition} at {first}, although {least} was committed"
                if following is not None and first != following:
                    yield f"{member} read {partition}@{first} after @{following - 1}"
                position[member, partition] = event["next"], least


class Member:
    """A driver of `drivers.py` that was told to join."""

    STATUS = (0,)

    def __init__(self, driver, name, history, topic, **join):
        self.name, self.history = name, history
        self.owned, self.trouble, self.over = set(), None, threading.Event()
        self.log = open(driver.directory / f"{name}.log", "ab")
        self.process = subprocess.Popen(
            [*driver.command(), driver.bootstrap], env=driver.environment(), start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
        )
        self.process.stdin.write(json.dumps({"do": "join", "topic": topic, "client_id": name, **join}).encode() + b"\n")
        self.process.stdin.flush()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            try:
                self.on(json.loads(line))
            except (ValueError, KeyError) as error:
                self.trouble = f"it wrote {line[:200]!r}: {error!r}"
        self.over.set()

    def on(self, event):
        kind = event["event"]
        if kind == "assigned":
            self.owned |= set(event["partitions"])
        elif kind == "revoked":
            self.owned -= set(event["partitions"])
        elif kind == "failed":
            self.trouble = event["message"]
        self.history.add(self.name, event)

    def check(self):
        if self.trouble is not None:
            raise ClientError(f"{self.name}: {self.trouble}")

    def ask_to_leave(self):
        self.process.stdin.write(b'{"do": "leave"}\n')
        self.process.stdin.flush()

    def leave(self):
        try:
            self.ask_to_leave()
        except OSError:
            pass  # it is gone already: what it said is told below
        if not self.over.wait(PATIENCE):
            self.kill()
            raise ClientError(f"{self.name} does not leave; see {self.log.name}")
        self.check()
        status = self.process.wait(10)
        if status not in self.STATUS:
            raise ClientError(f"{self.name} ended with exit code {status}; see {self.log.name}")
        self.owned = set()

    def kill(self):
        """kill -9: it says goodbye to nobody."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(10)
        self.over.wait(10)
        self.history.gone(self.name)
        self.owned = set()


class VerifiableMember(Member):
    """kafka-verifiable-consumer: its events under the names above."""

    STATUS = (0, 143)  # it is told by a signal

    def __init__(self, tools, name, history, topic, group, session_ms, protocol="classic", instance=None, **_):
        self.name, self.history = name, history
        self.owned, self.trouble, self.over = set(), None, threading.Event()
        self.log = open(tools.directory / f"{name}.log", "ab")
        args = ["--topic", topic, "--group-id", group, "--group-protocol", protocol, "--reset-policy", "earliest"]
        if protocol == "classic":
            args += ["--session-timeout", str(session_ms)]
        if instance is not None:
            args += ["--group-instance-id", instance]
        self.process = subprocess.Popen(tools.command("verifiable-consumer", *args), start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        threading.Thread(target=self.listen, daemon=True).start()

    def on(self, event):
        # It tells milliseconds: what it gives up counts from their beginning, all else from their end.
        at, name = event["timestamp"] * 1000, event["name"]
        at += 0 if name == "partitions_revoked" else 999
        if name in ("partitions_assigned", "partitions_revoked"):
            partitions = [part["partition"] for part in event["partitions"]]
            super().on({"event": name.removeprefix("partitions_"), "at": at, "partitions": partitions})
        elif name == "records_consumed":
            for part in event["partitions"]:
                first, following = part["minOffset"], part["maxOffset"] + 1
                if following - first != part["count"]:
                    self.trouble = f"{part['count']} records from {first} up to {following}"
                super().on({"event": "read", "at": at, "partition": part["partition"], "first": first, "next": following})
        elif name == "offsets_committed" and event["success"]:
            offsets = {part["partition"]: part["offset"] for part in event["offsets"]}
            super().on({"event": "committed", "at": at, "offsets": offsets})
        elif name == "offsets_committed":
            super().on({"event": "uncommitted", "at": at, "message": event.get("error")})
        elif name == "shutdown_complete":
            super().on({"event": "left", "at": at})

    def ask_to_leave(self):
        self.process.send_signal(signal.SIGTERM)

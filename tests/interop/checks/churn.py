"""Groups whose members join, leave and are killed while records arrive: each record read, positions exact, nothing read again.

Every family of clients runs the same story, in groups of one to four members, each a process of its own.
"""

import time

from drivers import Confluent, Java
from members import History, Member, VerifiableMember
from records import Mismatch, generate

PARTITIONS = 6
SESSION_MS = 6000  # the shortest that brokers allow unless told otherwise
STATIC_SESSION_MS = 120_000  # a JVM may take its time to start again; nothing waits for this
# The consumer protocol's session timeout is the broker's to set: 45 s by default.
PATIENCE = 100


class JavaMember(Java):
    main = "GroupMember"


class Story:
    """One group on one topic, and the members it has now."""

    def __init__(self, suite, name, join, chunk):
        self.suite, self.name, self.make, self.chunk = suite, name, join, chunk
        self.topic = suite.create(suite.topic(name), PARTITIONS)
        self.group = f"{self.topic}-group"
        self.history, self.members, self.serial = History(PARTITIONS), [], 0
        self.ends = {partition: 0 for partition in range(PARTITIONS)}

    def join(self, **more):
        self.serial += 1
        name = f"{self.name}-{'abcdefghij'[self.serial - 1]}"
        settings = {"group": self.group, "session_ms": SESSION_MS, **more}
        member = self.make(name, self.history, self.topic, **settings)
        self.members.append(member)
        return member

    def leave(self, member):
        self.members.remove(member)
        member.leave()

    def kill(self, member):
        self.members.remove(member)
        member.kill()

    def feed(self):
        records = generate(self.chunk, f"{self.name} {self.ends[0]}")
        records = [record._replace(partition=index % PARTITIONS) for index, record in enumerate(records)]
        for record in self.suite.confluent.produce(self.topic, records, {"linger.ms": 5}):
            self.ends[record.partition] = max(self.ends[record.partition], record.offset + 1)

    def wait(self, what, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            for member in self.members:
                member.check()
            if time.monotonic() > deadline:
                owned = {member.name: sorted(member.owned) for member in self.members}
                raise Mismatch(f"{what} did not happen within {PATIENCE} s; the members have {owned}, "
                               f"{self.history.count()} of {sum(self.ends.values())} records were read")
            time.sleep(0.02)

    def shared(self):
        """Until every member has partitions, and together they have all."""

        def fair():
            owned = [sorted(member.owned) for member in self.members]
            return all(owned) and sorted(sum(owned, [])) == list(range(PARTITIONS))

        self.wait(f"an assignment to {len(self.members)} members", fair)

    def all_read(self):
        self.wait("reading everything", lambda: self.history.count() >= sum(self.ends.values()))

    def all_committed(self):
        """A rebalance may be quicker than a commit, which is tried again then: a member is not told to leave before."""
        self.all_read()
        self.wait("committing everything", lambda: self.suite.committed(self.group, self.topic) == self.ends)

    def check(self):
        self.history.check(self.ends)
        self.suite.expect_committed(self.group, self.topic, self.ends)

    def end(self):
        for member in self.members:
            member.kill()
        self.history.keep(self.suite.directory / f"{self.name}.events")


class ChurnChecks:
    def churn_families(self, consumer_protocol):
        """What --only chooses from: a name, how a member is made, and whether the client knows static members."""

        def driver(family, **settings):
            return lambda *args, **join: Member(family, *args, **join, **settings)

        def verifiable(**settings):
            return lambda *args, **join: VerifiableMember(self.tools, *args, **join, **settings)

        foreign = self.foreign
        java = JavaMember(self.bootstrap, self.directory)
        confluent = Confluent(self.bootstrap, self.directory)
        families = {
            "aiokafka": (driver(foreign["aiokafka"], strategy="range"), True),
            "franz-go": (driver(foreign["franz-go"], strategy="cooperative-sticky"), True),
            "sarama": (driver(foreign["sarama"], strategy="sticky"), True),
            "kafkajs": (driver(foreign["kafkajs"], strategy="roundrobin"), False),
            "rdkafka": (driver(foreign["rdkafka"], strategy="cooperative-sticky"), True),
            "java": (driver(java, strategy="range"), True),
            "verifiable": (verifiable(), True),
        }
        if consumer_protocol:
            families |= {
                "java-consumer": (driver(java, protocol="consumer"), True),
                "verifiable-consumer": (verifiable(protocol="consumer"), True),
                "confluent-consumer": (driver(confluent, protocol="consumer"), True),
                # As a static member it closes without its name, which brokers refuse: its place stays taken.
                "franz-go-consumer": (driver(foreign["franz-go"], protocol="consumer"), False),
            }
        return families

    def churn(self, family, join):
        def story(story):
            story.feed()
            first = story.join()
            story.shared()
            story.all_read()
            for _ in range(3):
                story.join()
            story.feed()
            story.shared()
            story.all_read()
            story.feed()
            story.leave(first)
            story.feed()
            story.kill(story.members[0])
            story.shared()
            story.all_committed()
            for member in list(story.members):
                story.leave(member)
            story.check()

        def resumed(story):
            read = story.history.count()
            last = story.join()
            story.shared()
            story.feed()
            story.all_committed()
            story.leave(last)
            story.check()
            new = story.history.count() - read
            if new != story.chunk:
                raise Mismatch(f"{new} records were read, expected {story.chunk}")

        self.told_story(f"churn-{family}", join, self.count // 5, (("members-come-go-and-die", story), ("resumes", resumed)))

    def static(self, family, join):
        """A static member that comes back in time has what it had, and nobody else notices."""

        def returns(story):
            one, two = (story.join(instance=instance, session_ms=STATIC_SESSION_MS) for instance in ("one", "two"))
            story.shared()
            story.feed()
            story.all_read()
            had, quiet = set(one.owned), len(self.assignments(story, two))
            if family.endswith("-consumer"):  # this protocol lets go of the name of one that was killed after its session only
                story.leave(one)
            else:
                story.kill(one)
            story.feed()
            again = story.join(instance="one", session_ms=STATIC_SESSION_MS)
            story.shared()
            story.all_read()
            story.all_committed()
            if again.owned != had:
                raise Mismatch(f"it has {sorted(again.owned)} after its return, it had {sorted(had)}")
            if len(self.assignments(story, two)) != quiet:
                raise Mismatch(f"the other member noticed: {self.assignments(story, two)}")
            for member in list(story.members):
                story.leave(member)
            story.check()

        self.told_story(f"static-{family}", join, 600, (("member-returns", returns),))

    def usurped(self, family, join):
        """Two static members that say they are the same: the later one is, and the earlier one is told."""

        def usurped(story):
            old = story.join(instance="one", session_ms=STATIC_SESSION_MS)
            story.shared()
            story.feed()
            story.all_read()
            story.members.remove(old)
            story.history.gone(old.name)
            new = story.join(instance="one", session_ms=STATIC_SESSION_MS)
            try:
                story.wait("taking its place", lambda: len(new.owned) == PARTITIONS)
                story.wait("the end of the one before", lambda: old.trouble is not None or old.over.is_set())
                story.feed()
                story.all_committed()
            finally:
                old.kill()
            story.leave(new)
            story.check()

        self.told_story(f"usurped-{family}", join, 600, (("by-a-later-one", usurped),))

    @staticmethod
    def assignments(story, member):
        return [event for _, _, name, event in story.history.events
                if name == member.name and event["event"] in ("assigned", "revoked") and event["partitions"]]

    def told_story(self, name, join, chunk, parts):
        story = self.check(f"{name} begins", Story, self, name, join, chunk)
        if not story:
            return
        try:
            for part, action in parts:
                if self.check(f"{name} {part}", action, story) is None:
                    break
        finally:
            story.end()

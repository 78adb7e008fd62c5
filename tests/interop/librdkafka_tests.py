"""Which tests librdkafka has, and how they are cut up for running: from its sources, so a new release brings its new tests."""

import os
import re
from pathlib import Path
from typing import NamedTuple

SUITE = Path(os.environ["LIBRDKAFKA_SUITE"])
TESTS = SUITE / "tests"
# What librdkafka's own runs leave out as well (by hand only, known to fail), and what starts no broker or its own mock of one.
LEFT_OUT = re.compile(r"TEST_F_LOCAL|TEST_F_MANUAL|TEST_F_KNOWN_ISSUE\b|^\w+_mock\b")
# Tests of many parts, of which the first that fails ends all: each part is run by itself. {test: (file, function that calls them)}
SPLIT = {
    "0081_admin": ("0081-admin.c", "do_test_apis"),
    "0113_cooperative_rebalance": ("0113-cooperative_rebalance.cpp", "main_0113_cooperative_rebalance"),
    "0137_barrier_batch_consume": ("0137-barrier_batch_consume.c", "main_0137_barrier_batch_consume"),
}
# Parts that are long enough for two, by what the runner calls them.
HALVES = {
    "u_multiple_subscription_changes": {"with_callback": "use_rebalance_cb: 1", "without_callback": "use_rebalance_cb: 0"},
}
# Runs beside the plain one, for what is to be had of a test when the rest of it is not. {test: {variant: environment}}
VARIANTS = {
    "0055_producer_latency": {"quick": {}},
    "0061_consumer_lag": {"without-transactions": {"SUBTESTS": "without transactions"}},
    "0109_auto_create_topics": {"without-acls": {"TEST_KAFKA_VERSION": "2.0.0.0"}},
    "0153_memberid": {"consumer": {"TEST_CONSUMER_GROUP_PROTOCOL": "consumer"}},
}
# Numbers to which all answers come late, and by how many milliseconds: librdkafka forgets a subscription that follows an
# unsubscription while it gives up partitions, so 0045_subscribe_many_updates passes only where no answer comes between two of
# its calls, which are a tenth of a millisecond apart. {group protocol: {number: milliseconds}}
LATE = {"consumer": {"0045": 20}}


class Run(NamedTuple):
    """What one process of the runner is told to do: all tests of a number and scenario, a part or a variant of one."""

    number: str
    scenario: str
    tests: tuple
    part: str = ""
    variant: str = ""

    def more(self):
        return "-".join(filter(None, (self.part.removeprefix("do_test_"), self.variant)))

    def names(self):
        return tuple(f"{test}:{self.more()}" if self.more() else test for test in self.tests)

    def network(self, protocol):
        """What librdkafka's emulation of a network, which is a part of the runner, is told."""
        late = LATE.get(protocol, {}).get(self.number)
        return {"TEST_SOCKEM": f"delay={late}"} if late else {}

    def environment(self):
        if self.part in HALVES:
            return {"SUBTESTS": HALVES[self.part][self.variant]}
        return {"SUBTESTS": f"{self.part}:"} if self.part else VARIANTS.get(self.tests[0], {}).get(self.variant, {})


def every_run():
    """All tests that need a broker, from librdkafka's own table."""
    source = (TESTS / "test.c").read_text()
    table = source[source.index("struct test tests[] = {"):]
    runs = {}
    for entry in re.split(r"^ *_TEST\(", table[: table.index("{NULL}")], flags=re.M)[1:]:
        entry = entry.split("\n#")[0]
        if LEFT_OUT.search(entry):
            continue
        name = re.match(r"\w+", entry)[0]
        scenario = re.search(r'scenario = "(\w+)', entry)
        runs.setdefault((name[:4], scenario[1] if scenario else "default"), []).append(name)
    for (number, scenario), tests in runs.items():
        if tests[0] in SPLIT:
            for part in parts(*SPLIT[tests[0]]):
                yield from (Run(number, scenario, tuple(tests), part, half) for half in HALVES.get(part, ("",)))
        else:
            yield Run(number, scenario, tuple(tests))
            for variant in VARIANTS.get(tests[0], ()):
                yield Run(number, scenario, tuple(tests[:1]), variant=variant)


def parts(file, function):
    """The functions that this one calls, once each, as far as they have names to be chosen by."""
    text = (TESTS / file).read_text()
    bodies = {name: body for name, body in re.findall(r"^(?:static void|int)\s+(\w+)\([^;{]*?\) \{\n(.*?)^\}", text, re.M | re.S)}
    called = dict.fromkeys(re.findall(r"^ +(\w+)\(", bodies[function], re.M))
    return [name for name in called if "SUB_TEST" in bodies.get(name, "")]

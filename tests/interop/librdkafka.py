"""librdkafka's own test suite against a broker. See README.md; `librdkafka` starts this with everything built."""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import broker as brokers
from librdkafka_tests import SUITE, TESTS, every_run

HERE = Path(__file__).resolve().parent
ORACLE = HERE.parent / "oracle"
ALLOW_LIST = HERE / "librdkafka.allow"
KAFKA_VERSION = "4.4.0.0"
# The longest that passes takes half of this.
LIMIT_SECONDS = 300
# The longest, to begin with.
FIRST = (
    "0113_cooperative_rebalance:u_multiple_subscription_changes-with_callback",
    "0113_cooperative_rebalance:u_multiple_subscription_changes-without_callback",
    "0061_consumer_lag", "0055_producer_latency", "0089_max_poll_interval", "0091_max_poll_interval_timeout",
)
# How the brokers are configured, as far as tests see it.
ALIKE = {"num.partitions": 4, "group.initial.rebalance.delay.ms": 100}  # without the delay, members do not begin together
SETTINGS = {"default": ALIKE, "noautocreate": ALIKE | {"auto.create.topics.enable": "false"}}
TOOLS = ("acls", "configs", "run-class", "topics")
ROW = re.compile(r"^\|\S* ?(\d{4}_\w+) +\| +(\w+) \|", re.M)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Outcome(NamedTuple):
    name: str
    state: str  # passed, failed, skipped, limit
    reason: str
    seconds: float
    log: Path


def read_allow_list(protocol):
    """{name: reason}: the tests that may not pass, because they need more than one plain node."""
    allowed = {}
    for line in ALLOW_LIST.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        with_protocol = re.match(r"(classic|consumer):(.*)", name)
        if with_protocol:
            if with_protocol[1] != protocol:
                continue
            name = with_protocol[2]
        if not reason.strip() or name in allowed:
            raise SystemExit(f"{ALLOW_LIST.name}: expected NAME REASON and each name once, got '{line}'")
        allowed[name] = reason.strip()
    return allowed


# -- running -------------------------------------------------------------------------------------------------------------


class Runner:
    def __init__(self, directory, bootstraps, options):
        self.directory, self.bootstraps = Path(directory), bootstraps
        self.quick, self.protocol = options.quick, options.group_protocol
        self.kafka = self.directory / "kafka"
        (self.kafka / "bin").mkdir(parents=True)
        for tool in TOOLS:
            script = self.kafka / "bin" / f"kafka-{tool}.sh"
            script.write_text(f'#!/bin/sh\nexec "{ORACLE}/kafka" {tool} "$@"\n')
            script.chmod(0o755)
        (self.directory / "src").symlink_to(SUITE / "src")  # as seen from a test: ../src

    def place(self, run, attempt):
        """A working directory of its own: some tests leave files there, and expect a few beside them."""
        place = self.directory / "-".join(filter(None, (run.number, run.scenario, run.more(), attempt)))
        place.mkdir()
        for wanted in ("interceptor_test", "java", "fixtures"):
            (place / wanted).symlink_to(TESTS / wanted)
        (place / "Makefile").write_text(".PHONY: java\njava:\n\t@true\n")
        (place / "test.conf").write_text(
            f"bootstrap.servers={self.bootstraps[run.scenario]}\nbroker.address.family=v4\n"
            "test.topic.random=true\ntest.timeout.multiplier=2\n"  # as in librdkafka's own runs
        )
        return place

    def environment(self, run):
        inherited = {name: value for name, value in os.environ.items() if name not in ("CI", "SUBTESTS", "TEST_SOCKEM")}
        return inherited | {
            "LD_LIBRARY_PATH": f"{SUITE}/src:{SUITE}/src-cpp",
            "TESTS": run.number,
            "TEST_SCENARIO": run.scenario,
            "TEST_KAFKA_VERSION": KAFKA_VERSION,
            "TEST_CONSUMER_GROUP_PROTOCOL": self.protocol,
            "KAFKA_PATH": str(self.kafka),
            "BROKERS": self.bootstraps[run.scenario],
        } | run.network(self.protocol) | run.environment()

    def execute(self, run, attempt=""):
        """Returns an outcome for each of the run's tests."""
        place = self.place(run, attempt)
        log = place / "log"
        command = [str(TESTS / "test-runner"), "-p1", "-L"] + (["-Q"] if self.quick or run.variant == "quick" else [])
        started = time.monotonic()
        with open(log, "wb") as output:
            process = subprocess.Popen(command, cwd=place, env=self.environment(run), stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                kill_group(process)
        seconds = time.monotonic() - started
        outcomes = [Outcome(name, *judge(run, test, log, code), seconds, log) for name, test in zip(run.names(), run.tests)]
        if all(outcome.state == "passed" for outcome in outcomes):
            shutil.rmtree(place)
        return run, outcomes


def kill_group(process):
    """A test that fails leaves its threads, and now and then a child, behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait(10)


def judge(run, test, log, code):
    """(state, reason) of one test, by the log and exit code of its process."""
    text = COLOUR.sub("", log.read_text(errors="replace"))
    # There is no table where a test that failed leaves its threads behind.
    state = dict(ROW.findall(text)).get(test) or first(rf"= Test {test} (PASSED) =", text) or None
    if state == "SKIPPED":
        return "skipped", first(rf"^\[{test} .*SKIPPING TEST: (.*)", text) or "no reason given"
    subtests = run.environment().get("SUBTESTS")
    if state == "PASSED" and subtests and not ran(subtests, text):
        return "skipped", first(rf"\[ .*{re.escape(subtests)}.*: SKIP: (.*)", text) or "the runner left it out"
    if state == "PASSED" and (code == 0 or len(run.tests) > 1):
        return "passed", ""
    if state is None and code is None:
        return "limit", f"did not end within {LIMIT_SECONDS} s; {first_failure(test, text)}"
    return "failed", first_failure(test, text) or f"exit code {code}, no failure named"


def ran(subtests, text):
    """Whether any of these was begun and did not then leave itself out."""
    return re.search(rf"\[ .*{re.escape(subtests)}.*: PASS \(", text) is not None


def first(pattern, text):
    found = re.search(pattern, text, re.M)
    return " ".join(found[1].split())[:300] if found else ""


def first_failure(test, text):
    """The test's own, if it has one."""
    found = (first(rf'^### Test "{of}" failed at .*\n(.*)', text) for of in (rf"{test}\b.*", ".*"))
    return next(filter(None, found), "") or first(r"^(.*[Aa]ssert.*)", text)


# -- the verdict ---------------------------------------------------------------------------------------------------------


class Report:
    """What is to be complained about: a test that should have passed, and an entry of the allow-list that is stale."""

    def __init__(self, allowed, control):
        self.allowed, self.control = allowed, control
        self.passed, self.failed, self.without = 0, 0, 0
        self.names_logs = False

    def stale(self, outcome):
        return outcome.name in self.allowed and outcome.state == "passed" and not self.control

    def fails(self, outcome):
        return self.stale(outcome) or (outcome.state != "passed" and outcome.name not in self.allowed)

    def take(self, outcome, before=None):
        """`before` is the outcome of the same test while others ran beside it."""
        what = f"{outcome.name} {outcome.seconds:.1f}s"
        if self.stale(outcome):
            self.say("FAIL", f"{what} passed, but {ALLOW_LIST.name} says: {self.allowed[outcome.name]}")
        elif outcome.name in self.allowed and outcome.state != "passed":
            self.say("without", f"{what} {outcome.state}: {self.allowed[outcome.name]}")
        elif outcome.state != "passed":
            self.say("FAIL", f"{what} {outcome.state}: {outcome.reason} ({outcome.log})")
        elif before is not None and before.state != "passed":
            self.names_logs = True
            self.say("ok", f"{what} alone; beside others {before.state}: {before.reason} ({before.log})")
        else:
            self.say("ok", what)

    def say(self, verdict, line):
        self.passed += verdict == "ok"
        self.failed += verdict == "FAIL"
        self.names_logs |= verdict == "FAIL"
        self.without += verdict == "without"
        print(f"{verdict} {line}", flush=True)


def run_all(runner, runs, report, jobs):
    """Several at a time; what fails is run again, alone: the tests have deadlines, and the machine has other work."""
    again = []
    with ThreadPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(runner.execute, run) for run in runs]):
            run, outcomes = done.result()
            if any(report.fails(outcome) for outcome in outcomes):
                again.append((run, outcomes))
                continue
            for outcome in outcomes:
                report.take(outcome)
    for run, before in sorted(again):
        for attempt in ("alone", "alone-again"):
            outcomes = runner.execute(run, attempt)[1]
            if not any(report.fails(outcome) for outcome in outcomes):
                break
        for outcome, earlier in zip(outcomes, before):
            report.take(outcome, earlier)


def settings_for(command, settings):
    """As `dohle start` takes them, or as they are for a command that was given."""
    pairs = [f"{key}={value}" for key, value in settings.items()]
    return " ".join(pairs) if command else [word for pair in pairs for word in ("--override", pair)]


def start_brokers(scenarios, directory, command):
    """{scenario: Broker}"""
    binary = None if command else brokers.build()
    started = {}
    for scenario in scenarios:
        port = brokers.free_port()
        data, log = directory / f"data-{scenario}", directory / f"broker-{scenario}.log"
        settings = settings_for(command, SETTINGS[scenario])
        if command:
            server = brokers.Broker(command.format(port=port, dir=data, settings=settings), port, log)
        else:
            server = brokers.dohle(binary, port, data, log)
            server.command += settings
        server.start(120)
        started[scenario] = server
    return started


def parse():
    parser = argparse.ArgumentParser(prog="librdkafka", description="Runs librdkafka's own test suite against a broker.")
    parser.add_argument("--bootstrap", metavar="HOST:PORT",
                        help="a running broker with num.partitions=4; without it Dohle is built and started")
    parser.add_argument("--bootstrap-noautocreate", metavar="HOST:PORT",
                        help="beside --bootstrap: one with auto.create.topics.enable=false too; without it its tests are not run")
    parser.add_argument("--command", metavar="SHELL", help="starts another broker in the foreground, on {port}, with its data "
                                                           "in {dir} and {settings} such as num.partitions=4")
    parser.add_argument("--control", action="store_true", help="the broker is another one: it may pass what the allow-list names")
    parser.add_argument("--only", metavar="NNNN,…", help="only tests whose names begin so, such as 0045,0081_admin:CreateTopics")
    parser.add_argument("--quick", action="store_true", help="fewer records, and many parts of the tests left out (librdkafka's -Q)")
    parser.add_argument("--group-protocol", choices=("classic", "consumer"), default="classic",
                        help="which protocol all consumers speak (default classic)")
    parser.add_argument("--jobs", metavar="N", type=int, default=3, help="tests at a time (default 3; most of them wait most of the time)")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    return parser, parser.parse_args()


def choose(options, allowed):
    runs = list(every_run())
    names = [name for run in runs for name in run.names()]
    unknown = [name for name in allowed if name not in names]
    if unknown:
        raise SystemExit(f"{ALLOW_LIST.name}: no test is called {' or '.join(unknown)}")
    if options.only:
        wanted = tuple(options.only.split(","))
        runs = [run for run in runs if any(name.startswith(wanted) for name in run.names())]
    if options.bootstrap and not options.bootstrap_noautocreate:
        for run in runs:
            if run.scenario != "default":
                print(f"# not run, for lack of --bootstrap-{run.scenario}: {' '.join(run.names())}")
        runs = [run for run in runs if run.scenario == "default"]
    return sorted(runs, key=lambda run: run.names()[0] not in FIRST)


def main():
    parser, options = parse()
    allowed = read_allow_list(options.group_protocol)
    runs = choose(options, allowed)
    if not runs:
        parser.error(f"no test is called {options.only}; --list names them")
    if options.list:
        print("\n".join(name for run in runs for name in run.names()))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # through the finally below
    directory = Path(tempfile.mkdtemp(prefix="dohle-librdkafka-"))
    started, report, servers = time.monotonic(), Report(allowed, options.control), {}
    try:
        if options.bootstrap:
            bootstraps = {"default": options.bootstrap, "noautocreate": options.bootstrap_noautocreate}
        else:
            servers = start_brokers(dict.fromkeys(run.scenario for run in runs), directory, options.command)
            bootstraps = {scenario: f"127.0.0.1:{server.port}" for scenario, server in servers.items()}
        runner = Runner(directory, bootstraps, options)
        run_all(runner, runs, report, options.jobs)
        for scenario, server in servers.items():
            if not server.alive():
                report.say("FAIL", f"broker {scenario} ended with exit code {server.process.returncode} ({server.log})")
    except brokers.BrokerError as error:
        print(f"librdkafka: {error}", file=sys.stderr)
        return 1
    finally:
        for server in servers.values():
            server.kill()
    if not report.names_logs:
        shutil.rmtree(directory, ignore_errors=True)
    logs = f", logs in {directory}" if report.names_logs else ""
    print(f"# {time.monotonic() - started:.0f} s, {report.without} not to be had on one plain node{logs}")
    print(f"{report.passed} passed, {report.failed} failed", flush=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())

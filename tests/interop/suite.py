"""The interop checks. See README.md; `run` starts this in the venv with the clients installed."""

import argparse
import fnmatch
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import broker as brokers
from checks.churn import ChurnChecks
from checks.cluster import ClusterChecks, read_files
from checks.configs import ConfigChecks
from checks.every_record import RecordChecks
from checks.group_tool import GroupToolChecks
from checks.groups import GroupChecks
from checks.offsets import OffsetChecks
from checks.plumbing import Plumbing, expect_equal
from checks.restart import RestartChecks
from checks.topics import TopicChecks
from checks.traffic import TrafficChecks

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
QUICK_CODECS = ("snappy", "zstd")
CONSUMER_GROUP_HEARTBEAT = 68
ALONGSIDE, AT_ONCE = ("churn-", "static-", "usurped-"), 4


class Suite(RecordChecks, TopicChecks, ConfigChecks, OffsetChecks, TrafficChecks, ClusterChecks, GroupChecks, GroupToolChecks,
            ChurnChecks, RestartChecks, Plumbing):
    """All checks, over the clients that they share."""

    def groups(self, consumer_protocol):
        """Everything there is, by name: what --only chooses from. Those of ALONGSIDE wait more than they work."""
        groups = {}
        for codec in self.codecs:
            groups[f"kcat-{codec}"] = partial(self.kcat_codec, codec)
            for family in ("confluent", "java", *self.foreign):
                groups[f"{family}-{codec}"] = partial(self.library_codec, family, codec)
            groups[f"console-producer-{codec}"] = partial(self.console_codec, codec)
            groups[f"verifiable-producer-{codec}"] = partial(self.verifiable_codec, codec)
        for group in (self.topics_tool, self.create_delete, self.partitions, self.auto_create, self.configs_tool, self.configs,
                      self.offsets, self.delete_records, self.idempotent, self.acks, self.too_large, self.fetching,
                      self.cluster_tools, self.kcat_group, self.java_group, self.python_group, self.group_tool, self.restart):
            groups[group.__name__.replace("_", "-")] = group
        for strategy in ("range", "roundrobin", "cooperative-sticky"):
            groups[f"confluent-group-{strategy}"] = partial(self.confluent_group, strategy)
        for family, (join, static) in self.churn_families(consumer_protocol).items():
            groups[f"churn-{family}"] = partial(self.churn, family, join)
            if static:
                groups[f"static-{family}"] = partial(self.static, family, join)
            # The consumer protocol refuses the later one; aiokafka takes its place back, and so it goes on.
            if static and not family.endswith("-consumer") and family != "aiokafka":
                groups[f"usurped-{family}"] = partial(self.usurped, family, join)
        return groups


def run_groups(suite, server, groups, chosen, started):
    """One after the other; those that wait for timeouts a few at a time."""

    def run(number, name):
        if server is not None and not server.alive():
            return
        suite.note(f"# {number}/{len(chosen)} {name} ({time.monotonic() - started:.0f} s)")
        try:
            groups[name]()
        except Exception as error:  # outside any check: still a failure of this group
            suite.not_run(name, f"{type(error).__name__}: {' '.join(str(error).split())[:400]}")
        if server is not None and not server.alive():
            suite.not_run("broker", f"it ended during {name} with exit code {server.process.returncode}")
            suite.note(server.tail(40))

    numbered = list(enumerate(chosen, 1))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for entry in numbered:
            if not entry[1].startswith(ALONGSIDE):
                run(*entry)
        try:
            for done in [pool.submit(run, *entry) for entry in numbered if entry[1].startswith(ALONGSIDE)]:
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)  # those that run end their members


def main():
    parser = argparse.ArgumentParser(prog="run", description="Runs foreign Kafka clients against a broker and compares every record.")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a running broker; without it Dohle is built and started")
    parser.add_argument("--binary", metavar="PATH", type=Path, help="start this dohle instead of building one")
    parser.add_argument("--command", metavar="COMMAND", help="start this, with {port} and {dir}, instead of Dohle")
    parser.add_argument("--records", metavar="N", type=int, help="records for each client and codec (default 10000, --quick 1000)")
    parser.add_argument("--quick", action="store_true", help=f"1000 records and the codecs {' and '.join(QUICK_CODECS)}")
    parser.add_argument("--only", metavar="NAME", action="append",
                        help="only these groups, a name or a pattern such as 'kcat-*'; may be given more than once; "
                             "'list' names them")
    parser.add_argument("--keep", action="store_true", help="keep the working directory (logs, the broker's data)")
    options = parser.parse_args()
    count = options.records or (1000 if options.quick else 10_000)
    if count < 100:
        parser.error("--records must be at least 100, or there is too little of each odd shape")
    codecs = QUICK_CODECS if options.quick and not options.only else CODECS

    # Whoever stops the run stops what it has started too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    directory = Path(tempfile.mkdtemp(prefix="dohle-interop-"))
    server = None
    if options.only == ["list"]:
        print("\n".join(Suite("127.0.0.1:1", count, CODECS, directory).groups(consumer_protocol=True)))
        shutil.rmtree(directory, ignore_errors=True)
        return 0
    started = time.monotonic()
    try:
        bootstrap = options.bootstrap
        if bootstrap is None:
            port = brokers.free_port()
            if options.command is not None:
                command = options.command.format(port=port, dir=directory / "data")
                server = brokers.Broker(f"exec {command}", port, directory / "broker.log")
            else:
                binary = options.binary or brokers.build()
                server = brokers.dohle(binary, port, directory / "data", directory / "broker.log")
            server.start(seconds=120)
            bootstrap = f"127.0.0.1:{port}"
        print(f"# {count} records for each client and codec, codecs {' '.join(codecs)}, broker at {bootstrap}", flush=True)
        suite = Suite(bootstrap, count, codecs, directory)
        suite.server = server
        consumer_protocol = CONSUMER_GROUP_HEARTBEAT in brokers.api_keys(bootstrap)
        if not consumer_protocol:
            print("# the broker does not have the consumer protocol: its checks are left out", flush=True)
        groups = suite.groups(consumer_protocol)
        chosen = [name for name in groups if not options.only or any(fnmatch.fnmatch(name, only) for only in options.only)]
        if not chosen:
            parser.error(f"no group is called {' or '.join(options.only)}; there are: {' '.join(groups)}")
        run_groups(suite, server, groups, chosen, started)
        suite.stop()
        if server is not None and server.alive():
            def stops():
                expect_equal(0, server.stop(), "exit code after SIGTERM")
            if options.command is None:
                suite.check("broker stops-on-SIGTERM", stops)
            if not options.quick and options.command is None:
                for name, tool, more in (("check-dir", "check-dir", ()), ("compare-dumps", "compare-dumps", ("--dohle", binary))):
                    suite.check(f"files {name}", read_files, tool, directory / "data", more)
        if suite.failed:
            options.keep = True
        print(f"# {time.monotonic() - started:.0f} s" + (f", logs in {directory}" if options.keep else ""), flush=True)
        print(f"{suite.passed} passed, {suite.failed} failed", flush=True)
        return 1 if suite.failed else 0
    except brokers.BrokerError as error:
        print(f"run: {error}", file=sys.stderr)
        options.keep = True
        return 2
    finally:
        if server is not None:
            server.kill()
        if not options.keep:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

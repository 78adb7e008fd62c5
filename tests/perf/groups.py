"""How fast members of a group share a topic, and what that costs the coordinator.

Drives tests/examples/rebalance.rs in each protocol, on a broker with the settings people develop with:

- two: seconds from the start of the second of two members, 50 ms after the first, until both have their share
- later: seconds from the start of a third until all three have theirs
- crowd: seconds from the start of MEMBERS at once until every partition has one reader and no member has two more than another

CPU and memory are those of the broker's process over the whole run, which also serves the fetches and heartbeats of all members; the
members run on the same cores. With --bootstrap they are not known.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "interop"))
import broker as brokers  # noqa: E402

LIMIT = 300
# Connections of a member: to the broker it was told of, and to that broker under its own name, twice where it coordinates.
DESCRIPTORS_OF_A_MEMBER = 4


def build():
    command = ["cargo", "build", "--release", "--locked", "-p", "dohle-tests", "--example", "rebalance"]
    if subprocess.run(command, cwd=ROOT, timeout=3600).returncode != 0:
        sys.exit("groups: the members could not be built (the messages are above)")
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "release" / "examples" / "rebalance"


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid):
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def measure(args, members, bootstrap, protocol, pid=None):
    before = cpu_seconds(pid) if pid else 0
    command = [str(members), bootstrap, protocol, str(args.members), str(args.partitions)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    if done.returncode != 0:
        sys.exit(f"groups: the {protocol} members failed with exit code {done.returncode} (the message is above)")
    result = json.loads(done.stdout)
    if pid:
        result["broker_cpu_s"] = round(cpu_seconds(pid) - before, 2)
        result["broker_peak_mib"] = round(peak_mib(pid), 1)
    print(json.dumps(result), flush=True)
    return result


def on_own_broker(args, members, protocol):
    folder = Path(tempfile.mkdtemp(prefix="dohle-groups-"))
    port = brokers.free_port()
    command = [str(brokers.build()), "start", "--listen", f"127.0.0.1:{port}", "--data", str(folder / "data")]
    broker = brokers.Broker(command, port, folder / "broker.log")
    broker.start()
    try:
        return measure(args, members, f"127.0.0.1:{port}", protocol, broker.process.pid)
    finally:
        broker.kill()
        shutil.rmtree(folder)


def need_descriptors(args):
    wanted = args.members * DESCRIPTORS_OF_A_MEMBER + 256
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        sys.exit(f"groups: {args.members} members need {wanted} file descriptors; ulimit -H -n says {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a broker that runs already; otherwise Dohle is built and started")
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=2000)
    parser.add_argument("--protocols", type=lambda text: text.split(","), default=["classic", "consumer"])
    parser.add_argument("--json", metavar="FILE", help="the results once more, as one list")
    args = parser.parse_args()
    need_descriptors(args)
    members = build()
    try:
        if args.bootstrap:
            results = [measure(args, members, args.bootstrap, protocol) for protocol in args.protocols]
        else:
            results = [on_own_broker(args, members, protocol) for protocol in args.protocols]
    except (brokers.BrokerError, subprocess.TimeoutExpired) as error:
        sys.exit(f"groups: {error}")
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

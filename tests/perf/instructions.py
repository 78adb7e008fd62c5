"""How many instructions each hot step of the core needs, held against a baseline.

Each case of core/benches/hot runs under callgrind, which counts only what happens in the bench's function `measured`: so many rounds of
steps in their steady state. The count is of instructions executed, not of time; it does not depend on how busy the machine is.

What it depends on, and what is done about it:

- Programs see the CPU that valgrind shows them, which is the same one on all that have AVX2; those without are not compared. By it the C
  library chooses memcpy and its kin, and the checksum of batches an instruction of SSE 4.2: by tables it would take several times as
  many.
- Of the choices left GLIBC_TUNABLES takes one away: the `rep movsb` that copies as fast as any loop counts as an instruction for each byte,
  ten times as much.
- The C library's own version: its malloc and memcpy are counted with the rest.
- Where the stack and the heap lie: valgrind puts them in the same place each time; the environment is the same for every run.
- The compiler and the dependencies. A new one may move a case by some percent: look at the profile, then bless the new counts. Debug
  assertions are off, overflow checks on, as in the release that is shipped.

Two runs of one binary agree to the last instruction.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASELINE = ROOT / "tests" / "perf" / "instructions.json"
# Per cent.
TOLERANCE = 3
ROUNDS = 32
LIMIT = 300
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-ERMS"}


def build():
    """The bench's executable."""
    command = ["cargo", "bench", "--locked", "-p", "dohle-core", "--bench", "hot", "--no-run", "--message-format=json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=3600)
    if done.returncode != 0:
        sys.exit("instructions: the bench could not be built (the messages are above)")
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    built = [m["executable"] for m in messages if m["reason"] == "compiler-artifact" and m["target"]["name"] == "hot"]
    return Path(built[-1])


def count(bench, case, folder):
    """Instructions for each step of a case."""
    out = folder / (case.replace("/", "-") + ".callgrind")
    # The wildcard stands for the hash that some compilers put behind names.
    valgrind = ["valgrind", "--tool=callgrind", "--toggle-collect=hot::measured*", f"--callgrind-out-file={out}"]
    command = [*valgrind, str(bench), "--count", case, str(ROUNDS)]
    environment = {"PATH": os.environ["PATH"], **ENVIRONMENT}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT)
    if done.returncode != 0:
        sys.exit(f"instructions: {case} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    counted = re.search(r"^totals: (\d+)$", out.read_text(), re.MULTILINE)
    if not counted or int(counted[1]) == 0:
        sys.exit(f"instructions: nothing was counted for {case}: does core/benches/hot/main.rs still have the function `measured`?")
    return round(int(counted[1]) / int(done.stdout))


def verdict(counted, known):
    """A word for a case, and whether it is well."""
    if known is None:
        return "not in the baseline: --bless", False
    change = 100 * (counted - known) / known
    if change > TOLERANCE:
        return f"{change:+.1f} %: too many", False
    if change < -TOLERANCE:
        return f"{change:+.1f} %: fewer; --bless keeps it so", True
    return f"{change:+.1f} %", True


def compare(counts, baseline, whole):
    """Prints the table; whether all is well."""
    known = baseline["instructions_per_step"]
    print(f"{'case':<28}{'baseline':>12}{'counted':>12}  change")
    well = True
    for case, counted in counts.items():
        word, fine = verdict(counted, known.get(case))
        well &= fine
        print(f"{case:<28}{known.get(case, '-'):>12}{counted:>12}  {word}")
    for case in [case for case in known if whole and case not in counts]:
        well = False
        print(f"{case:<28}{known[case]:>12}{'-':>12}  not a case any more: --bless")
    if not well and baseline["rustc"] != rustc():
        print(f"The baseline was made by {baseline['rustc']}, this bench by {rustc()}.")
    return well


def bless(counts, baseline, whole):
    known = {} if whole else baseline["instructions_per_step"]
    new = {"machine": platform.machine(), "rustc": rustc(), "instructions_per_step": {**known, **counts}}
    BASELINE.write_text(json.dumps(new, indent=2) + "\n")
    print(f"written to {BASELINE.relative_to(ROOT)}")


def rustc():
    return subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def why_not():
    """Why counts of this machine do not compare, if they do not."""
    if platform.machine() != "x86_64":
        return f"the baseline is one for x86_64, this is {platform.machine()}"
    if " avx2 " not in Path("/proc/cpuinfo").read_text():
        return "this CPU has no AVX2"
    return None


def arguments():
    parser = argparse.ArgumentParser(prog="instructions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="CASE", action="append", help="this case (may be given more than once)")
    parser.add_argument("--bless", action="store_true", help="write what is counted as the baseline, whatever it is")
    parser.add_argument("--profile", metavar="DIR", type=Path, help="keep callgrind's files there, for callgrind_annotate")
    return parser.parse_args()


def main():
    args = arguments()
    if why := why_not():
        print(f"instructions: nothing is compared: {why}")
        return
    bench = build()
    cases = subprocess.run([bench, "--cases"], stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT).stdout.split()
    if unknown := set(args.only or []) - set(cases):
        sys.exit(f"instructions: no case {', '.join(sorted(unknown))}; there are {', '.join(cases)}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.profile or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        counts = {case: count(bench, case, folder) for case in args.only or cases}
    none = {"rustc": rustc(), "instructions_per_step": {}}
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else none
    well = compare(counts, baseline, whole=not args.only)
    if args.bless:
        bless(counts, baseline, whole=not args.only)
    elif not well:
        sys.exit(1)


main()

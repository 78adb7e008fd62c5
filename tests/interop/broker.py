"""Builds, starts and stops the broker under test. Everything is bounded in time."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIRST_PORT = 19000


class BrokerError(Exception):
    pass


def free_port(first=FIRST_PORT):
    """A port from 19000 up (below the range the kernel hands out by itself), with its neighbour free too."""
    for port in range(first, 32000, 2):
        try:
            for candidate in (port, port + 1):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", candidate))
            return port
        except OSError:
            continue
    raise BrokerError(f"no free port from {first} to 32000 on 127.0.0.1")


def build():
    """Builds the release binary and returns its path."""
    result = subprocess.run(["cargo", "build", "--release", "--bin", "dohle"], cwd=ROOT, timeout=3600)
    if result.returncode != 0:
        raise BrokerError("cargo build --release failed (its messages are above)")
    binary = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "release" / "dohle"
    if not binary.is_file():
        raise BrokerError(f"cargo build --release succeeded but {binary} is not there")
    return binary


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def api_keys(bootstrap):
    """The keys of the APIs that a broker says it has, by ApiVersions version 0."""
    host, port = bootstrap.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(struct.pack(">ihhih", 10, 18, 0, 1, -1))
            (size,) = struct.unpack(">i", exactly(connection, 4))
            answer = exactly(connection, size)
    except OSError as error:
        raise BrokerError(f"no broker answers at {bootstrap}: {error}") from None
    _, error, count = struct.unpack_from(">ihi", answer)
    if error != 0:
        raise BrokerError(f"{bootstrap} answered ApiVersions with error {error}")
    return {struct.unpack_from(">h", answer, 10 + 6 * row)[0] for row in range(count)}


def exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise BrokerError(f"the connection ended after {len(data)} of {size} bytes")
        data += more
    return data


def wait_for_port(port, seconds, process=None):
    deadline = time.monotonic() + seconds
    while True:
        if answers(port):
            return
        if process is not None and process.poll() is not None:
            raise BrokerError(f"the broker ended while starting, with exit code {process.returncode}")
        if time.monotonic() > deadline:
            raise BrokerError(f"127.0.0.1:{port} did not answer within {seconds} s")
        time.sleep(0.02)


def in_a_folder(name, keep, trouble, run):
    """The exit code of a test: `run(folder)`, or 2 for an error of the kinds `trouble`. The folder stays unless all went well."""
    folder, result = Path(tempfile.mkdtemp(prefix=f"dohle-{name}-")), 2
    print(f"# working directory {folder}", flush=True)
    try:
        result = run(folder)
    except (BrokerError, *trouble) as error:
        print(f"FAIL {name} {error}")
    finally:
        if keep or result != 0:
            print(f"# kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return result


class Broker:
    """One broker process in a process group of its own. `command` is a list, or a string for the shell."""

    def __init__(self, command, port, log):
        self.command, self.port, self.log = command, port, Path(log)
        self.process = None

    def start(self, seconds=30):
        if answers(self.port):
            raise BrokerError(f"something else answers on 127.0.0.1:{self.port}; a broker was to be started there")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command,
                shell=isinstance(self.command, str),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_for_port(self.port, seconds, self.process)
        except BrokerError as error:
            self.kill()
            raise BrokerError(f"{error}; the end of {self.log}:\n{self.tail()}") from None

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """kill -9 of the whole group: nothing of the broker gets to say goodbye. Returns when all of it is gone."""
        if self.process is None:
            return
        deadline = time.monotonic() + 30
        while True:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return  # the shell may be gone before what it started
            self.process.poll()
            if time.monotonic() > deadline:
                raise BrokerError(f"process group {self.process.pid} is still there 30 s after SIGKILL")
            time.sleep(0.005)

    def stop(self, seconds=30):
        """SIGTERM; returns the exit code when all of the group is gone."""
        deadline = time.monotonic() + seconds
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            while time.monotonic() < deadline:
                self.process.poll()
                os.killpg(self.process.pid, 0)
                time.sleep(0.01)
        except ProcessLookupError:
            return self.process.wait(timeout=1)
        self.kill()
        raise BrokerError(f"the broker did not end within {seconds} s of SIGTERM and was killed")

    def tail(self, lines=20):
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return "(no log)"


# In the newer protocol a member that was killed is missed after a time that is the broker's to set: 45 s by default.
SETTINGS = ("group.consumer.min.session.timeout.ms=30000", "group.consumer.session.timeout.ms=30000")


def dohle(binary, port, directory, log):
    command = [str(binary), "start", "--listen", f"127.0.0.1:{port}", "--data", str(directory)]
    command += [word for setting in SETTINGS for word in ("--override", setting)]
    return Broker(command, port, log)

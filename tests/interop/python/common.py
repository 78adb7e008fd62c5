"""What the Python drivers share: the commands on stdin, the events of a member."""

import asyncio
import json
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

OUTPUT = threading.Lock()


def say(message):
    with OUTPUT:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def tell(event, **more):
    """An event of a member, see members.py."""
    say({"event": event, "at": time.time_ns() // 1000, **more})


def tell_read(partition, offsets):
    """Offsets of one partition in the order read: one event for each stretch without a gap."""
    first = following = None
    for offset in offsets:
        if offset != following:
            if first is not None:
                tell("read", partition=partition, first=first, next=following)
            first = offset
        following = offset + 1
    if first is not None:
        tell("read", partition=partition, first=first, next=following)


def commands():
    for line in sys.stdin:
        yield json.loads(line)


def leave_event():
    """Set when the member is told to leave, or nobody is there to tell it."""
    leaving = threading.Event()

    def wait():
        sys.stdin.readline()
        leaving.set()

    threading.Thread(target=wait, daemon=True).start()
    return leaving


def serve(verbs, join):
    """Answers commands until there are none; `join` takes over for good."""
    for command in commands():
        if command["do"] == "join":
            try:
                result = join(command)
                if asyncio.iscoroutine(result):
                    asyncio.run(result)
                tell("left")
            except Exception as error:  # whatever it is, the member is over
                tell("failed", message=f"{type(error).__name__}: {error}")
                sys.exit(1)
            return
        try:
            result = verbs[command["do"]](command)
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
            say(result or {})
        except Exception as error:  # told to whoever gave the command
            say({"error": type(error).__name__, "message": str(error)})

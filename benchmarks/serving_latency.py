"""Start-up, latency and memory of one exported file on one core: FORMAT PATH CALLS."""

import json
import os
import sys
import time

import exported

WORDS = "The committee said on Monday that it had not yet decided whether to publish the report ."
WORDS = (WORDS + " They will meet again").split()[:20]


def main(form, path, calls):
    """Prints seconds to the first answer, milliseconds of each call and megabytes, as JSON."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    start = time.perf_counter()
    run = exported.open_format(form, path)
    run(WORDS)
    first = time.perf_counter() - start
    milliseconds = []
    for _ in range(int(calls)):
        start = time.perf_counter()
        run(WORDS)
        milliseconds.append(round(1000 * (time.perf_counter() - start), 3))
    print(json.dumps({"first": first, "calls": milliseconds, "memory": exported.memory("VmHWM")}))


if __name__ == "__main__":
    main(*sys.argv[1:])

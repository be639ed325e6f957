"""Runs commands and says what each cost. Node cannot: only wait4 tells the CPU time and peak memory of one child.

One JSON object a line in: {"argv", "env", "cwd"}, and "times" to run that many at once.
One a line out: cpu (ms, user and system), wall (ms), rss (MB), status, and out (bytes written to stdout).
"""
import json
import os
import sys
import time

NULL = os.open(os.devnull, os.O_RDWR)


def start(job, stdout):
    actions = [
        (os.POSIX_SPAWN_DUP2, NULL, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_DUP2, NULL, 2),
    ]
    os.chdir(job["cwd"])
    return os.posix_spawnp(job["argv"][0], job["argv"], job["env"], file_actions=actions)


def one(job):
    ours, theirs = os.pipe()
    began = time.perf_counter()
    pid = start(job, theirs)
    os.close(theirs)
    out = 0
    while part := os.read(ours, 65536):
        out += len(part)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - began
    os.close(ours)
    return {
        "cpu": (used.ru_utime + used.ru_stime) * 1000,
        "wall": wall * 1000,
        "rss": used.ru_maxrss / 1024,
        "status": os.waitstatus_to_exitcode(status),
        "out": out,
    }


def many(job):
    began = time.perf_counter()
    pids = [start(job, NULL) for _ in range(job["times"])]
    worst = max(abs(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) for pid in pids)
    return {"wall": (time.perf_counter() - began) * 1000, "status": worst}


for line in sys.stdin:
    job = json.loads(line)
    print(json.dumps(many(job) if "times" in job else one(job)), flush=True)

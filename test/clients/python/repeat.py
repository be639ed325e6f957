"""Runs a script once, and again and again in the same process for the seconds given: as a program that runs longer than a token lives."""

import sys
import time

seconds, file = float(sys.argv[1]), sys.argv[2]
with open(file) as opened:
    code = compile(opened.read(), file, "exec")
end = time.monotonic() + seconds
while True:
    exec(code, {"__name__": "__main__"})
    if time.monotonic() >= end:
        break
    time.sleep(0.5)

"""Reads with one tigergraph-mcp again and again, for the seconds given; prints what the server says."""

import asyncio
import os
import sys
import time

from ask_mcp import ask, vertices

end = time.monotonic() + float(sys.argv[1])


def calls():
    while time.monotonic() < end:
        yield vertices
        time.sleep(0.5)


server = os.path.join(os.path.dirname(sys.executable), "tigergraph-mcp")
for answer in asyncio.run(ask([server], dict(os.environ), calls())):
    print(answer)

"""Reads with tigergraph-mcp, started by the command line that follows; prints what the server says."""

import asyncio
import os
import sys

from ask_mcp import ask, vertices

(answer,) = asyncio.run(ask(sys.argv[1:], dict(os.environ), [vertices]))
print(answer)

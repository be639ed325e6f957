"""tigergraph-mcp as an assistant starts it: over stdio, with the TG_* variables."""

import asyncio
import os
import sys

from ask_mcp import ask, vertices
from steps import GRAPH, GSQL_PORT, HOST, PASSWORD, REST_PORT, SECRET, USERNAME, expect, step

SERVER = os.path.join(os.path.dirname(sys.executable), "tigergraph-mcp")
ADDRESS = {"TG_HOST": HOST, "TG_RESTPP_PORT": REST_PORT, "TG_GS_PORT": GSQL_PORT, "TG_GRAPHNAME": GRAPH}
LOGIN = {**ADDRESS, "TG_USERNAME": USERNAME, "TG_PASSWORD": PASSWORD}


def call(env, *calls):
    return asyncio.run(ask([SERVER], env, calls))


def gsql(statement):
    return "gsql", {"command": f"USE GRAPH {GRAPH}\n{statement}"}


created, shown, dropped, with_password = call(
    LOGIN, gsql("CREATE SECRET client_one"), gsql("SHOW SECRET"), gsql("DROP SECRET client_one"), vertices
)
(with_secret,) = call({**ADDRESS, "TG_SECRET": SECRET}, vertices)
(with_wrong_password,) = call({**LOGIN, "TG_PASSWORD": "wrong"}, vertices)
step("create a secret", lambda: expect("The secret: " in created, created))
step("list secrets", lambda: expect("client_one" in shown, shown))
step("drop a secret", lambda: expect("Successfully dropped" in dropped, dropped))
step("read vertices with a password", lambda: expect('"count": 2' in with_password, with_password))
step("read vertices with a secret", lambda: expect('"count": 2' in with_secret, with_secret))
step(
    "see that a password is wrong",
    lambda: expect('"success": false' in with_wrong_password, with_wrong_password),
)

"""pyTigerDriver: the login of the GSQL shell of 3.x, and secrets. It asks for no tokens itself."""

from pyTigerDriver import GSQL_Client
from steps import GRAPH, GSQL_PORT, PASSWORD, USERNAME, expect, refused, step

COMMIT = "359f6bd4a4651e035d6ac5fe435cd992c7b863f3"  # The commit of the 3.9.3 client. The program itself names no client after 3.1.2.


def client(password=PASSWORD):
    return GSQL_Client("127.0.0.1", username=USERNAME, password=password, gsPort=GSQL_PORT, commit=COMMIT)


gsql = client()


def log_in():
    expect(gsql.login() is True, "no session")


def create_secret():
    gsql.use(GRAPH)
    lines = gsql.query("create secret client_one", graph=GRAPH)
    secret = next(line for line in lines if "The secret" in line).split()[2]
    expect(len(secret) == 32, lines)


def list_secrets():
    found = gsql.get_secrets(GRAPH)
    expect(any(one["alias"] == "client_one" and one["graph"] == GRAPH for one in found.values()), found)


def list_secrets_by_statement():
    lines = gsql.query("show secret", graph=GRAPH)
    expect("- Alias: client_one" in lines, lines)


def drop_secret():
    lines = gsql.query("drop secret client_one", graph=GRAPH)
    expect(any("Successfully dropped" in line for line in lines), lines)


step("log in", log_in)
step("create a secret", create_secret)
step("list secrets", list_secrets)
step("list secrets by a statement", list_secrets_by_statement)
step("drop a secret", drop_secret)
step("see that a password is wrong", lambda: refused(client("wrong").login))

"""graflo: it mints a token from its secret, and reads with it; GSQL gets its user name and password."""

from graflo.connections.onto import TigergraphConfig
from graflo.db.tigergraph.conn import TigerGraphConnection
from steps import GRAPH, GSQL_PORT, HOST, PASSWORD, SECRET, SERVER_VERSION, USERNAME, accepted, expect, refused, step


def connect(**login):
    uri = f"{HOST}:{GSQL_PORT}"
    return TigerGraphConnection(TigergraphConfig(uri=uri, username=USERNAME, database=GRAPH, version=SERVER_VERSION, **login))


def mint_with_secret():
    conn = connect(password=PASSWORD, secret=SECRET)
    expect(conn.api_token and accepted(conn.api_token), conn.api_token)
    return conn


def read_vertices():
    found = conn.fetch_docs("Person", limit=2)
    expect(len(found) == 2, found)


def list_secrets():
    answer = connect(password=PASSWORD).execute(f"USE GRAPH {GRAPH}\nSHOW SECRET")
    expect("seeded" in answer, answer)


conn = step("mint with a secret", mint_with_secret)
step("read vertices with the token", read_vertices)
step("list secrets", list_secrets)
step("see that a password is wrong", lambda: refused(lambda: connect(password="wrong").execute("SHOW SECRET")))

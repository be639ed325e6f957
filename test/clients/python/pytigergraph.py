"""pyTigerGraph: secrets and tokens."""

import pyTigerGraph
from steps import (
    CLOSED_PORT, GRAPH, GSQL_PORT, HOST, JWT, PASSWORD, REST_PORT, SERVER_VERSION, USERNAME, accepted, expect, refused, step,
)

ON_4 = SERVER_VERSION.startswith("4.")
SERVER_TAKES_JWT = tuple(map(int, SERVER_VERSION.split("."))) >= (3, 10, 0)
SERVER_TAKES_SECRET_AS_LOGIN = tuple(map(int, SERVER_VERSION.split("."))) >= (3, 6, 2)


def connect(rest_port=REST_PORT, **login):
    return pyTigerGraph.TigerGraphConnection(
        host=HOST, graphname=GRAPH, restppPort=rest_port, gsPort=GSQL_PORT, gsqlVersion=SERVER_VERSION, **login
    )


def token_in(answer):
    """The token stands first, in a tuple or in a tuple of tuples."""
    return answer if isinstance(answer, str) else token_in(answer[0])


admin = connect(username=USERNAME, password=PASSWORD)
holder = connect(username=USERNAME, password=PASSWORD)  # A connection with a token sends the token with every request, instead of its password.


def mint(conn, secret=None):
    """A token is for all graphs unless told otherwise, which 3.x cannot do."""
    return token_in(conn.getToken(secret, lifetime=1000, is_global=ON_4))


def create_secret():
    secret = admin.createSecret("client_one")
    expect(len(secret) == 32, secret)
    return secret


def create_secret_without_alias():
    found = admin.createSecret(withAlias=True)
    expect(len(found) == 1 and next(iter(found)).startswith("AUTO_GENERATED_ALIAS_"), found)


def list_secrets(conn):
    found = conn.getSecrets()
    expect(len(found.get("client_one", "")) > 6, found)


def mint_with(conn, secret=None):
    token = mint(conn, secret)
    expect(accepted(token), "a token that the server refuses")
    return token


def read_vertices(conn):
    found = conn.getVertices("Person", limit=2)
    expect(len(found) == 2, found)


def go_on_when_port_9000_is_closed():
    conn = connect(CLOSED_PORT, username=USERNAME, password=PASSWORD)
    mint(conn, secret)
    read_vertices(conn)


def find_version():
    found = holder.getVer()
    expect(found == SERVER_VERSION, found)


def refresh_token():
    if ON_4:  # There is no such thing on 4.x.
        return refused(lambda: holder.refreshToken(secret, token=token, lifetime=2000))
    again = token_in(holder.refreshToken(secret, token=token, lifetime=2000))
    expect(again == token, "another token")


def delete_token():
    expect(holder.deleteToken(secret, token) is True, "not True")
    expect(not accepted(token), "the token is still valid")


def delete_unknown_token():
    refused(lambda: holder.deleteToken(secret, "abcdefgh01234567abcdefgh01234567", skipNA=False))


def drop_secret():
    admin.dropSecret("client_one", ignoreErrors=False)
    expect("client_one" not in connect(username=USERNAME, password=PASSWORD).getSecrets(), "still there")


def drop_unknown_secret():
    refused(lambda: admin.dropSecret("client_nobody", ignoreErrors=False))


secret = step("create a secret", create_secret)
step("create a secret without an alias", create_secret_without_alias)
step("see that an alias is taken", lambda: refused(lambda: admin.createSecret("client_one")))
step("list secrets", lambda: list_secrets(admin))
token = step("mint with a secret", lambda: mint_with(holder, secret))
step("read vertices with the token", lambda: read_vertices(holder))
if ON_4:
    step("go on when port 9000 is closed", go_on_when_port_9000_is_closed)
step("find the server's version", find_version)
step("list secrets after a mint", lambda: list_secrets(holder))
step("mint with a password", lambda: mint_with(connect(username=USERNAME, password=PASSWORD)))
if SERVER_TAKES_SECRET_AS_LOGIN:
    step("log in with a secret", lambda: list_secrets(connect(gsqlSecret=secret)))
if SERVER_TAKES_JWT:
    step("read vertices with a JWT", lambda: read_vertices(connect(jwtToken=JWT)))
    if ON_4:
        step("list secrets with a JWT", lambda: list_secrets(connect(jwtToken=JWT)))
step("refresh a token", refresh_token)
step("delete a token", delete_token)
step("see that a token is unknown", delete_unknown_token)
step("drop a secret", drop_secret)
step("see that an alias is unknown", drop_unknown_secret)
step("see that a secret is invalid", lambda: refused(lambda: mint(connect(), "a" * 32)))
step(
    "see that a password is wrong",
    lambda: refused(lambda: mint(connect(username=USERNAME, password="wrong"))),
)

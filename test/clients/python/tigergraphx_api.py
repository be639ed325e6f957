"""tigergraphx: no secrets of its own but through GSQL text, tokens through its API. 4.x only."""

from steps import GSQL_PORT, HOST, PASSWORD, REST_PORT, USERNAME, accepted, expect, refused, step
from tigergraphx import TigerGraphDatabase
from tigergraphx.core.tigergraph_api import TigerGraphAPI

ADDRESS = {"host": HOST, "restpp_port": REST_PORT, "gsql_port": GSQL_PORT}
LOGIN = {"username": USERNAME, "password": PASSWORD}


def connect(**login):
    return TigerGraphAPI({**ADDRESS, **login})


def log_in():
    api = connect(**LOGIN)
    expect(USERNAME in api.gsql("SHOW USER"), "another user")
    return api


def create_secret():
    answer = api.gsql("CREATE SECRET client_one")
    expect("The secret: " in answer, answer)
    return answer.split("The secret: ")[1].split(" ")[0]


def mint_with_secret():
    token = api.create_token(secret, lifetime_seconds=1000)
    expect(accepted(token), "a token that the server refuses")
    return token


def log_in_with(**login):
    answer = TigerGraphDatabase({**ADDRESS, **login}).gsql("SHOW SECRET")
    expect("client_one" in answer, answer)


def delete_token():
    api.drop_token(token)
    expect(not accepted(token), "the token is still valid")


def drop_secret():
    answer = api.gsql("DROP SECRET client_one")
    expect("Successfully dropped" in answer, answer)


api = step("log in", log_in)
step("ping the server", lambda: expect(api.ping() == "pong", "no pong"))
secret = step("create a secret", create_secret)
token = step("mint with a secret", mint_with_secret)
step("log in with a secret", lambda: log_in_with(secret=secret))
step("log in with a token", lambda: log_in_with(token=token))
step("delete a token", delete_token)
step("drop a secret", drop_secret)
step("see that a secret is invalid", lambda: refused(lambda: api.create_token("a" * 32)))
step("see that a password is wrong", lambda: refused(lambda: connect(username=USERNAME, password="wrong").gsql("SHOW SECRET")))

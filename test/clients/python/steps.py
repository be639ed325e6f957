"""Reports what a program could do, one JSON line a step, into the file that STEPS names."""

import json
import os
import urllib.error
import urllib.request

HOST = os.environ["CLIENT_HOST"]
REST_PORT = os.environ["CLIENT_REST_PORT"]
GSQL_PORT = os.environ["CLIENT_GSQL_PORT"]
CLOSED_PORT = os.environ["CLIENT_CLOSED_PORT"]
GRAPH = os.environ["CLIENT_GRAPH"]
USERNAME = os.environ["CLIENT_USERNAME"]
PASSWORD = os.environ["CLIENT_PASSWORD"]
SECRET = os.environ["CLIENT_SECRET"]  # The value of a secret that already exists.
JWT = os.environ["CLIENT_JWT"]  # A JWT of an identity provider whose key the server has.
SERVER_VERSION = os.environ["CLIENT_SERVER_VERSION"]


def step(name, action):
    """Runs the action; returns what it returns, or None when it fails."""
    result, error = None, None
    try:
        result = action()
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    with open(os.environ["STEPS"], "a") as file:
        file.write(json.dumps({"step": name, "error": error}) + "\n")
    return result


def refused(action):
    """The program reports a refusal of the server. Not reaching the server is none, nor is a bug of the program."""
    try:
        answer = action()
    except (AttributeError, KeyError, NameError, TypeError, ValueError):
        raise
    except Exception as error:
        if "Connect" in type(error).__name__ or "501" in str(error):
            raise
        return
    raise AssertionError(f"not refused: {answer}")


def expect(condition, seen):
    if not condition:
        raise AssertionError(f"got {seen!r}")


def accepted(token):
    """Whether the server takes the token."""
    request = urllib.request.Request(
        f"{HOST}:{GSQL_PORT}/restpp/echo", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False

"""LangChain's TigerGraph, which asks for the schema through the pyTigerGraph connection that it is given."""

from langchain_community.graphs import TigerGraph
from pyTigerGraph import TigerGraphConnection
from steps import GRAPH, GSQL_PORT, HOST, PASSWORD, REST_PORT, SECRET, SERVER_VERSION, USERNAME, expect, step


def graph(**login):
    conn = TigerGraphConnection(host=HOST, graphname=GRAPH, restppPort=REST_PORT, gsPort=GSQL_PORT, gsqlVersion=SERVER_VERSION, **login)
    conn.ai.configureGraphRAGHost("http://127.0.0.1:1")  # It wants a service for questions, which it does not ask here.
    return TigerGraph(conn)


def read_schema(**login):
    found = graph(**login).get_schema()
    expect("Person" in found, found)


step("read the schema with a password", lambda: read_schema(username=USERNAME, password=PASSWORD))
step("read the schema with a secret", lambda: read_schema(gsqlSecret=SECRET))

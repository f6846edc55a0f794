"""A LangGraph agent that knows nothing of the product: OPENAI_BASE_URL, an API key and two tools.

POST /ask with {"tools": [names]}: offers these tools to the model and returns its last message. Both tools can always be executed,
as in an agent whose prompt was manipulated. Each tool does its work by a request to SHOP_URL.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

SHOP = os.environ["SHOP_URL"]


def work(name: str) -> str:
    with urlopen(f"{SHOP}/work/{os.environ['NAME']}/{name}") as response:
        return response.read().decode()


@tool
def search(query: str) -> str:
    """Searches orders."""
    return work("search")


@tool
def delete_all_orders(query: str) -> str:
    """Deletes every order."""
    return work("delete_all_orders")


TOOLS = {each.name: each for each in (search, delete_all_orders)}


def ask(names: list[str]) -> str:
    model = ChatOpenAI(model="gpt-4o-mini", max_retries=0).bind_tools([TOOLS[name] for name in names])
    graph = (
        StateGraph(MessagesState)
        .add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        .add_node("tools", ToolNode(list(TOOLS.values())))
        .add_edge(START, "model")
        .add_conditional_edges("model", tools_condition)
        .add_edge("tools", "model")
        .compile()
    )
    return graph.invoke({"messages": [{"role": "user", "content": "Find my orders."}]})["messages"][-1].text


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.respond(200, {"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            self.respond(200, {"text": ask(body["tools"])})
        except Exception as error:  # The test needs the class that the agent gets.
            self.respond(500, {"error": type(error).__name__, "message": str(error)})

    def respond(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


ThreadingHTTPServer(("", 8000), Handler).serve_forever()

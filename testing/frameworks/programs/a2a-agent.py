"""An A2A agent whose task may contain the tokens in its metadata."""

import os

import uvicorn
from a2a.helpers import get_message_text, new_task_from_user_message, new_text_artifact_update_event
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, TaskState, TaskStatus, TaskStatusUpdateEvent
from google.protobuf.json_format import MessageToDict
from one_call import usage_after
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


def card_for(host: str) -> AgentCard:
    interface = AgentInterface(url=f"http://{host}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")
    return AgentCard(
        name="calculator",
        description="calculates",
        version="1.0.0",
        supported_interfaces=[interface],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )


class Calculator(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)

        async def on_text() -> None:
            text = "Six times seven is “42”."
            event = new_text_artifact_update_event(task.id, task.context_id, "text", text, last_chunk=True)
            await event_queue.enqueue_event(event)

        usage = await usage_after(os.environ["MODEL_URL"], on_text)
        done = TaskStatusUpdateEvent(
            task_id=task.id,
            context_id=task.context_id,
            status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED),
        )
        if "usage" in get_message_text(context.message):
            done.metadata.update({"usage": usage.model_dump(exclude_none=True)})
        await event_queue.enqueue_event(done)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        pass


async def card(request: Request) -> JSONResponse:
    return JSONResponse(MessageToDict(card_for(request.headers["host"])))


handler = DefaultRequestHandler(Calculator(), InMemoryTaskStore(), card_for("localhost"))
app = Starlette(
    routes=[Route("/.well-known/agent-card.json", card), *create_jsonrpc_routes(handler, "/a2a")]
)
uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="error")

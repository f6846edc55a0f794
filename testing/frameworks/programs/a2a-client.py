from a2a.client import ClientConfig, create_client
from a2a.helpers import new_text_message
from a2a.types import Role, SendMessageRequest
from common import call
from google.protobuf.json_format import MessageToDict


async def send(url: str, text: str, streaming: bool, events_wanted: int = 100):
    client = await create_client(url, ClientConfig(streaming=streaming))
    request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
    events = []
    stream = client.send_message(request)
    async for event in stream:
        events.append(MessageToDict(event))
        if len(events) == events_wanted:
            break
    await stream.aclose()
    await client.close()
    return events


call(
    {
        "message with usage": lambda url: send(url, "usage", False),
        "message": lambda url: send(url, "plain", False),
        "stream with usage": lambda url: send(url, "usage", True),
        "cancel": lambda url: send(url, "usage", True, events_wanted=2),
    }
)

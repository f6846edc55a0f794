"""All tools of the agent."""

from app.tools.orders import lookup_order, refund
from app.tools.parcels import ParcelTool

TOOLS = [lookup_order, refund, ParcelTool()]

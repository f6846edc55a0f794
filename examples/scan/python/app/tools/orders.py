"""Tools for orders."""

import asyncpg
from langchain_core.tools import tool

from app.config import get_settings


async def connect() -> asyncpg.Connection:
    return await asyncpg.connect(get_settings().database_url)


@tool
async def lookup_order(order_id: str) -> dict:
    """Returns the status of an order.

    Args:
        order_id: the number of the order
    """
    connection = await connect()
    row = await connection.fetchrow("SELECT * FROM orders WHERE id = $1", order_id)
    return dict(row) if row else {"error": "unknown order"}


@tool("refund_order")
async def refund(order_id: str, reason: str) -> str:
    """Refunds an order to its original means of payment."""
    connection = await connect()
    await connection.execute("UPDATE orders SET state = 'refunded', reason = $2 WHERE id = $1", order_id, reason)
    return "refunded"


# @tool
# async def cancel_order(order_id: str) -> str:
#     """Was replaced by refund_order."""

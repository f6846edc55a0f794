"""Imports orders from a CSV file: import_orders.py <file>."""

import asyncio
import csv
import sys

from app.tools.orders import connect


async def main(path: str) -> None:
    connection = await connect()
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            await connection.execute("INSERT INTO orders (id, state) VALUES ($1, $2)", row["id"], row["state"])


asyncio.run(main(sys.argv[1]))

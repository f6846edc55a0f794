"""Runs every Sigma rule of a folder over flattened audit events (NDJSON on standard input).

Prints one JSON object: rule file to the numbers of the lines that it selects, from 0.
usage: run-sigma.py FOLDER COLUMN...
"""
import json
import pathlib
import sqlite3
import sys

from sigma.backends.sqlite import sqliteBackend
from sigma.collection import SigmaCollection

folder, *columns = sys.argv[1:]
database = sqlite3.connect(":memory:")
quoted = ", ".join(f'"{column}"' for column in columns)
# A fixed list of columns: with the columns of the events, a rule about a member that no event has would be an error.
database.execute(f"CREATE TABLE logs (line INTEGER, {quoted})")
for number, line in enumerate(sys.stdin):
    members = json.loads(line)
    values = [number, *(members.get(column) for column in columns)]
    database.execute(f"INSERT INTO logs VALUES ({', '.join('?' * len(values))})", values)

fired = {}
for path in sorted(pathlib.Path(folder).glob("*.yml")):
    (query,) = sqliteBackend().convert(SigmaCollection.from_yaml(path.read_text()))
    query = query.replace("SELECT *", "SELECT line", 1)
    fired[path.stem] = [line for (line,) in database.execute(query)]
print(json.dumps(fired))

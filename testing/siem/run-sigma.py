"""Runs every Sigma rule of a folder over audit events (NDJSON on standard input).

Prints one JSON object: rule file to the numbers of the lines that it selects, from 0.
usage: run-sigma.py FOLDER COLUMN...
"""
import json
import pathlib
import sqlite3
import sys

from sigma.backends.sqlite import sqliteBackend
from sigma.collection import SigmaCollection


def flat(value, prefix=""):
    """Members by their path; the entries of lists are joined by commas."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from flat(member, f"{prefix}{name}.")
    elif isinstance(value, list):
        entries = [dict(flat(entry)) if isinstance(entry, dict) else {"": entry} for entry in value]
        for name in {name: None for entry in entries for name in entry}:
            path = f"{prefix}{name}" if name else prefix[:-1]
            yield path, ",".join(str(entry[name]) for entry in entries if name in entry)
    else:
        yield prefix[:-1], value


folder, *columns = sys.argv[1:]
database = sqlite3.connect(":memory:")
quoted = ", ".join(f'"{column}"' for column in columns)
# A fixed list of columns: with the columns of the events, a rule about a member that no event has would be an error.
database.execute(f"CREATE TABLE logs (line INTEGER, {quoted})")
for number, line in enumerate(sys.stdin):
    members = dict(flat(json.loads(line)))
    values = [number, *(members.get(column) for column in columns)]
    database.execute(f"INSERT INTO logs VALUES ({', '.join('?' * len(values))})", values)

fired = {}
for path in sorted(pathlib.Path(folder).glob("*.yml")):
    (query,) = sqliteBackend().convert(SigmaCollection.from_yaml(path.read_text()))
    query = query.replace("SELECT *", "SELECT line", 1)
    fired[path.stem] = [line for (line,) in database.execute(query)]
print(json.dumps(fired))

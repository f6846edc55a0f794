"""Reads events from standard input, one per line, and prints the errors of each in the official schema, one JSON list per line."""

import json
import sys

from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchema, OcsfJsonSchemaEmbedded
from ocsf_json_schema.loader import get_ocsf_schema

VERSION = "1.8.0"
schemas = OcsfJsonSchemaEmbedded(OcsfJsonSchema(get_ocsf_schema(version=VERSION)))
validators = {}


def validator_of(class_uid, profiles):
    key = (class_uid, tuple(sorted(profiles)))
    if key not in validators:
        name = schemas.lookup_class_name_from_uid(class_uid)
        validators[key] = Draft202012Validator(schemas.get_class_schema(name, sorted(profiles)))
    return validators[key]


for line in sys.stdin:
    event = json.loads(line)
    validator = validator_of(event["class_uid"], event["metadata"].get("profiles", []))
    errors = [f"{error.json_path}: {error.message}"[:300] for error in validator.iter_errors(event)]
    print(json.dumps(errors))

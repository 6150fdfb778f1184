# SPDX-License-Identifier: BSD-2-Clause
"""JSON schema validation, as much of it as our schema uses.

A keyword that is not understood raises an error instead of being passed over: a schema that
is silently half-checked would prove nothing.
"""

import json
import re
from pathlib import Path

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
         "boolean": bool, "null": type(None)}
SILENT = {"$schema", "$id", "title", "description", "$defs"}


def is_type(value, name):
    """JSON's own idea of types: true is no integer."""
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


class Validator:
    """Collects what is wrong with a value; keywords are methods named check_KEYWORD."""

    def __init__(self, root):
        self.root = root
        self.errors = []

    def say(self, where, text):
        self.errors.append("%s: %s" % (where or "/", text))

    def check(self, value, schema, where=""):
        for keyword, argument in schema.items():
            if keyword in SILENT:
                continue
            method = getattr(self, "check_" + keyword.lstrip("$"), None)
            if method is None:
                raise ValueError("schema keyword %s is not supported" % keyword)
            method(value, argument, schema, where)

    def check_ref(self, value, argument, schema, where):
        target = self.root
        for part in argument.lstrip("#/").split("/"):
            target = target[part]
        self.check(value, target, where)

    def check_type(self, value, argument, schema, where):
        names = argument if isinstance(argument, list) else [argument]
        if not any(is_type(value, name) for name in names):
            self.say(where, "is not of type " + "/".join(names))

    def check_const(self, value, argument, schema, where):
        if value != argument or isinstance(value, bool) != isinstance(argument, bool):
            self.say(where, "is not %r" % (argument,))

    def check_enum(self, value, argument, schema, where):
        if value not in argument:
            self.say(where, "%r is none of %s" % (value, argument))

    def check_pattern(self, value, argument, schema, where):
        if isinstance(value, str) and not re.search(argument, value):
            self.say(where, "%r does not match %s" % (value, argument))

    def check_minLength(self, value, argument, schema, where):
        if isinstance(value, str) and len(value) < argument:
            self.say(where, "is too short")

    def check_minimum(self, value, argument, schema, where):
        if is_type(value, "number") and value < argument:
            self.say(where, "%r is below %r" % (value, argument))

    def check_maximum(self, value, argument, schema, where):
        if is_type(value, "number") and value > argument:
            self.say(where, "%r is above %r" % (value, argument))

    def check_required(self, value, argument, schema, where):
        if isinstance(value, dict):
            for key in argument:
                if key not in value:
                    self.say(where, "lacks " + key)

    def check_properties(self, value, argument, schema, where):
        if isinstance(value, dict):
            for key, sub in argument.items():
                if key in value:
                    self.check(value[key], sub, "%s/%s" % (where, key))

    def check_additionalProperties(self, value, argument, schema, where):
        if not isinstance(value, dict):
            return
        for key in value.keys() - schema.get("properties", {}).keys():
            if argument is False:
                self.say(where, "has the unknown key " + key)
            elif argument is not True:
                self.check(value[key], argument, "%s/%s" % (where, key))

    def check_propertyNames(self, value, argument, schema, where):
        if isinstance(value, dict):
            for key in value:
                self.check(key, argument, "%s/%s" % (where, key))

    def check_items(self, value, argument, schema, where):
        if isinstance(value, list):
            for index, item in enumerate(value):
                self.check(item, argument, "%s/%d" % (where, index))

    def check_allOf(self, value, argument, schema, where):
        for sub in argument:
            self.check(value, sub, where)

    def check_if(self, value, argument, schema, where):
        trial = Validator(self.root)
        trial.check(value, argument, where)
        branch = schema.get("else" if trial.errors else "then")
        if branch is not None:
            self.check(value, branch, where)

    def check_then(self, value, argument, schema, where):
        """Done by check_if."""

    check_else = check_then


def errors(value, schema):
    """Everything wrong with value, as lines of text; empty when it is valid."""
    validator = Validator(schema)
    validator.check(value, schema)
    return validator.errors


def report_schema():
    """The schema of report.json, which lies beside this file."""
    return json.loads(Path(__file__).with_name("report.schema.json").read_text())

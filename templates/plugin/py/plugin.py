#!/usr/bin/env python3
"""{{name}}: a plugin with one tool, standard library only. Try it alone:

    vibe-bus plugins test ./{{name}} word_count '{"file": "README.md"}'
    vibe-bus plugins fuzz ./{{name}}
"""

import json
import os
import sys


class ToolFailure(Exception):
    """What went wrong, in words for the model."""


def word_count(arguments, workspace):
    try:
        with open(inside(workspace, arguments.get("file")), encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise ToolFailure(f"cannot read `{arguments['file']}`: {error.strerror}") from error
    return f"{text.count(chr(10)) + 1} lines, {len(text.split())} words"


def inside(workspace, path):
    """The path with all links followed, which must still lie in the workspace: that is the plugin's own duty."""
    if not isinstance(workspace, str):
        raise ToolFailure("this call came without a workspace")
    if not isinstance(path, str):
        raise ToolFailure("`file` must be a string")
    root = os.path.realpath(workspace)
    full = os.path.realpath(os.path.join(root, path))
    if full != root and not full.startswith(root + os.sep):
        raise ToolFailure(f"`{path}` is outside the workspace")
    return full


# What the model sees, and what is done when it calls.
TOOLS = {
    "word_count": (
        word_count,
        {
            "name": "word_count",
            "description": "Count the lines and words of a text file.",
            "input_schema": {
                "type": "object",
                "properties": {"file": {"type": "string", "description": "Path inside the workspace."}},
                "required": ["file"],
                "additionalProperties": False,
            },
            # Nothing is changed, so the call may run beside others.
            "mutating": False,
        },
    ),
}


# ---- the protocol: a JSON object per line on stdin and stdout; diagnostics belong on stderr ----


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def call_tool(params):
    name = params.get("name")
    if not isinstance(name, str) or name not in TOOLS:
        raise Refused(-32602, f"unknown tool `{name}`")
    context = (params.get("_meta") or {}).get("vibe") or {}
    run, _ = TOOLS[name]
    try:
        text, failed = run(params.get("arguments") or {}, context.get("workspace_root")), False
    except ToolFailure as failure:
        text, failed = str(failure), True
    return {"content": [{"type": "text", "text": text}], "is_error": failed}


METHODS = {
    "initialize": lambda params: {
        "name": "{{name}}",
        "version": "0.1.0",
        "capabilities": {"tools": True, "agents": False, "hooks": False},
    },
    "tools/list": lambda params: {"tools": [shown for _, shown in TOOLS.values()]},
    "tools/call": call_tool,
    "ping": lambda params: {},
    "shutdown": lambda params: {},
}


def answer(method, params):
    try:
        if method not in METHODS:
            raise Refused(-32601, f"method not found: {method}")
        if not isinstance(params, dict):
            raise Refused(-32602, "params must be an object")
        return {"result": METHODS[method](params)}
    except Refused as error:
        return {"error": {"code": error.code, "message": str(error)}}
    except Exception as error:  # one bad request must not end the plugin
        print(f"{{name}}: {error!r}", file=sys.stderr)
        return {"error": {"code": -32603, "message": str(error)}}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main():
    # Bytes, because text mode would split at more than the newline. The loop ends with stdin: then the host is gone.
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            send({"id": None, "error": {"code": -32700, "message": str(error)}})
            continue
        # Without an id it is a notification, without a method an answer: neither is answered.
        if not isinstance(message, dict) or not isinstance(message.get("method"), str) or message.get("id") is None:
            continue
        params = message.get("params")
        send({"id": message["id"], **answer(message["method"], {} if params is None else params)})
        if message["method"] == "shutdown":
            return


if __name__ == "__main__":
    main()

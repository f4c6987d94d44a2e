#!/usr/bin/env python3
"""A plugin in one file of Python, standard library only.

It offers one read-only tool, `todo_scan`, and one agent that uses it. The protocol needs very little: a JSON object per
line on stdin and stdout, diagnostics on stderr, exit when stdin ends. Try it by hand:

    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | python3 todo_scan.py
"""

import json
import os
import re
import sys

TAGS = ("TODO", "FIXME", "HACK", "XXX")
SKIPPED_FOLDERS = {".git", ".hg", ".svn", ".vibe", "node_modules", "dist", "build", "target", "__pycache__", ".venv"}
MAX_FILE_BYTES = 1_000_000
DEFAULT_LIMIT = 200

TOOL = {
    "name": "todo_scan",
    "description": "List TODO, FIXME, HACK and XXX notes in the workspace as `file:line: text`.",
    "input_schema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Folder or file to scan, relative to the workspace."},
            "tags": {"type": "array", "items": {"enum": list(TAGS)}, "description": "Default: all of them."},
            "limit": {"type": "integer", "minimum": 1, "description": f"Default {DEFAULT_LIMIT}."},
        },
        "additionalProperties": False,
    },
    # Nothing is changed, so the call may run beside others.
    "mutating": False,
}

AGENT = {
    "role": "todo_triage",
    "description": "Sorts the notes of a code base by urgency.",
    "system_prompt": (
        "You sort the open notes of a code base. Scan them with todo_scan, look at the code around the ones that sound "
        "risky, and answer with three lists: fix now, plan, drop. One line per note: file:line, then the reason."
    ),
    "tools": {"named": ["todo_scan", "read_file", "grep"]},
    "thinking": "low",
    "max_steps": 40,
}


class ToolFailure(Exception):
    """What went wrong, in words for the model."""


def todo_scan(arguments, context, progress):
    root = os.path.realpath(workspace_of(context))
    start = inside(root, arguments.get("path", "."))
    tags = arguments.get("tags") or list(TAGS)
    limit = arguments.get("limit", DEFAULT_LIMIT)
    note = re.compile(r"\b(%s)\b[:( ]?.*" % "|".join(map(re.escape, tags)))

    found = []
    for count, file in enumerate(source_files(start), 1):
        if count % 500 == 0:
            progress(count, f"{count} files read, {len(found)} notes")
        for number, line in lines_of(file):
            match = note.search(line)
            if match:
                found.append(f"{os.path.relpath(file, root)}:{number}: {match.group(0).strip()[:200]}")
                if len(found) == limit:
                    return "\n".join(found) + f"\n(stopped at {limit} notes)"
    return "\n".join(found) or f"no {' or '.join(tags)} notes found"


def workspace_of(context):
    if not context:
        raise ToolFailure("this call came without a workspace")
    if not context.get("permissions", {}).get("read"):
        raise ToolFailure("this agent may not read files")
    return context["workspace_root"]


def inside(root, path):
    """The path with all links followed, which must still lie in the workspace: that is the plugin's own duty."""
    full = os.path.realpath(os.path.join(root, path))
    if full != root and not full.startswith(root + os.sep):
        raise ToolFailure(f"`{path}` is outside the workspace")
    if not os.path.exists(full):
        raise ToolFailure(f"there is no `{path}`")
    return full


def source_files(start):
    if os.path.isfile(start):
        yield start
        return
    for folder, names, files in os.walk(start):
        names[:] = sorted(name for name in names if name not in SKIPPED_FOLDERS)
        for name in sorted(files):
            file = os.path.join(folder, name)
            # Links are left alone: they may lead out of the workspace.
            if os.path.isfile(file) and not os.path.islink(file) and os.path.getsize(file) <= MAX_FILE_BYTES:
                yield file


def lines_of(file):
    try:
        with open(file, encoding="utf-8") as text:
            yield from enumerate(text, 1)
    except (OSError, UnicodeDecodeError):
        return  # unreadable or not text: nothing to find there


# ---- the protocol ----


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call_tool(params):
    if params.get("name") != TOOL["name"]:
        raise LookupError(f"unknown tool `{params.get('name')}`")
    meta = params.get("_meta") or {}
    token = meta.get("progressToken")

    def progress(amount, message):
        if token is not None:
            report = {"progressToken": token, "progress": amount, "message": message}
            send({"method": "notifications/progress", "params": report})

    try:
        text, failed = todo_scan(params.get("arguments") or {}, meta.get("vibe"), progress), False
    except ToolFailure as failure:
        text, failed = str(failure), True
    return {"content": [{"type": "text", "text": text}], "is_error": failed}


METHODS = {
    "initialize": lambda params: {
        "name": "todo-scan",
        "version": "1.0.0",
        "capabilities": {"tools": True, "agents": True, "hooks": False},
    },
    "tools/list": lambda params: {"tools": [TOOL]},
    "agents/list": lambda params: {"agents": [AGENT]},
    "tools/call": call_tool,
    "ping": lambda params: {},
    "shutdown": lambda params: {},
}


def answer(request):
    method = METHODS.get(request["method"])
    if method is None:
        return {"error": {"code": -32601, "message": f"method not found: {request['method']}"}}
    try:
        return {"result": method(request.get("params") or {})}
    except LookupError as error:
        return {"error": {"code": -32602, "message": str(error.args[0])}}
    except Exception as error:  # one bad request must not end the plugin
        print(f"todo-scan: {error!r}", file=sys.stderr)
        return {"error": {"code": -32603, "message": str(error)}}


def main():
    # Bytes are split at newlines only; text mode would also split at other characters.
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            send({"id": None, "error": {"code": -32700, "message": str(error)}})
            continue
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            continue  # an answer, or nothing we know
        if message.get("id") is None:
            continue  # a notification
        send({"id": message["id"], **answer(message)})
        if message["method"] == "shutdown":
            return


if __name__ == "__main__":
    main()

/*
 * A plugin in one file of C, the C library and POSIX only. One read-only tool, `text_stats`.
 *
 *   cc -O2 -o text-stats text_stats.c
 *   printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | ./text-stats
 *
 * The protocol needs no JSON library: a request is walked in place, and only the few texts that matter are decoded.
 */
#define _XOPEN_SOURCE 700
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- JSON, read in place: no recursion, so that no nesting can overflow the stack ---- */

typedef struct {
    const char *at, *end;
} Span;

static const char *skip_space(const char *at, const char *end) {
    while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0') at++;
    return at;
}

/* Past the closing quote of a string; NULL when there is none. */
static const char *skip_string(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '\\') at++;
        else if (*at == '"') return at + 1;
    }
    return NULL;
}

/* Past one value; NULL when the text holds none. Checks the structure, not every number. */
static const char *skip_value(const char *at, const char *end) {
    size_t depth = 0;
    do {
        at = skip_space(at, end);
        if (at >= end) return NULL;
        if (*at == '"') {
            at = skip_string(at, end);
            if (at == NULL) return NULL;
        } else if (*at == '{' || *at == '[') {
            depth++, at++;
        } else if (*at == '}' || *at == ']') {
            if (depth-- == 0) return NULL;
            at++;
        } else if (*at == ',' || *at == ':') {
            if (depth == 0) return NULL;
            at++;
        } else if (isdigit((unsigned char)*at) || *at == '-' || *at == 't' || *at == 'f' || *at == 'n') {
            while (at < end && (isalnum((unsigned char)*at) || *at == '.' || *at == '+' || *at == '-')) at++;
        } else {
            return NULL;
        }
    } while (depth > 0);
    return at;
}

/* The value of a member, the last one of its name; false when there is none. Names are compared as they are written. */
static bool member(Span object, const char *name, Span *value) {
    bool found = false;
    const char *at = skip_space(object.at, object.end);
    if (at >= object.end || *at != '{') return false;
    for (at = skip_space(at + 1, object.end); at < object.end && *at == '"'; at = skip_space(at, object.end)) {
        const char *key = at + 1;
        const char *after = skip_string(at, object.end);
        if (after == NULL) return found;
        size_t length = (size_t)(after - key) - 1;
        at = skip_space(after, object.end);
        if (at >= object.end || *at != ':') return found;
        Span candidate = {skip_space(at + 1, object.end), NULL};
        candidate.end = skip_value(candidate.at, object.end);
        if (candidate.end == NULL) return found;
        if (length == strlen(name) && memcmp(key, name, length) == 0) *value = candidate, found = true;
        at = skip_space(candidate.end, object.end);
        if (at < object.end && *at == ',') at++;
    }
    return found;
}

static unsigned hex4(const char *at) {
    char digits[5] = {at[0], at[1], at[2], at[3], '\0'};
    return (unsigned)strtoul(digits, NULL, 16);
}

static char *put_utf8(char *to, unsigned code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6), *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12), *to++ = (char)(0x80 | (code >> 6 & 0x3f)), *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18), *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f)), *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* A string value as text of its own; NULL when it is no string or holds a NUL, which no path and no name here may. */
static char *text_of(Span value) {
    if (value.at >= value.end || *value.at != '"') return NULL;
    const char *at = value.at + 1, *end = value.end - 1;
    char *text = malloc((size_t)(end - at) + 1), *to = text;
    if (text == NULL) abort();
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        const char *escapes = "\"\\/bfnrt", *plain = "\"\\/\b\f\n\r\t", *found = strchr(escapes, at[1]);
        if (found != NULL) {
            *to++ = plain[found - escapes], at += 2;
        } else if (at[1] == 'u' && end - at >= 6) {
            unsigned code = hex4(at + 2);
            at += 6;
            bool pairs = code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u';
            unsigned low = pairs ? hex4(at + 2) : 0;
            if (low >= 0xdc00 && low < 0xe000) code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), at += 6;
            else if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
            to = put_utf8(to, code);
        } else {
            at++;
        }
    }
    *to = '\0';
    if (strlen(text) != (size_t)(to - text)) {
        free(text);
        return NULL;
    }
    return text;
}

/* How many bytes a character has; 0 for one that was cut. */
static size_t character_length(const char *text) {
    unsigned char lead = (unsigned char)*text;
    size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    for (size_t index = 1; index < length; index++) {
        if ((text[index] & 0xc0) != 0x80) return 0;
    }
    return length;
}

static void put_text(const char *text) {
    putchar('"');
    while (*text != '\0') {
        size_t length = character_length(text);
        unsigned char byte = (unsigned char)*text;
        if (length == 0) putchar('?'), length = 1;
        else if (byte == '"' || byte == '\\') printf("\\%c", byte);
        else if (byte < 0x20) printf("\\u%04x", byte);
        else fwrite(text, 1, length, stdout);
        text += length;
    }
    putchar('"');
}

/* ---- the tool ---- */

static const char tools[] =
    "{\"tools\":[{\"name\":\"text_stats\",\"description\":\"Count lines, words and bytes of a text file of any size, and find its "
    "longest line.\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"file\":{\"type\":\"string\",\"description\":\"Path "
    "inside the workspace.\"}},\"required\":[\"file\"],\"additionalProperties\":false},\"mutating\":false}]}";

/* Opens a regular file inside the workspace, all links followed: that is the plugin's own duty. -1 with a reason otherwise. */
static int open_inside(const char *workspace, const char *file, char *reason, size_t size) {
    char root[PATH_MAX], joined[PATH_MAX], target[PATH_MAX];
    if (realpath(workspace, root) == NULL) {
        snprintf(reason, size, "there is no workspace: %s", strerror(errno));
        return -1;
    }
    int length = file[0] == '/' ? snprintf(joined, sizeof joined, "%s", file)
                                : snprintf(joined, sizeof joined, "%s/%s", root, file);
    if (length >= (int)sizeof joined || realpath(joined, target) == NULL) {
        snprintf(reason, size, "cannot read `%.200s`: %s", file, length < 0 ? "" : strerror(errno));
        return -1;
    }
    size_t prefix = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(target, root, prefix) != 0 || target[prefix] != '/') {
        snprintf(reason, size, "`%.200s` is outside the workspace", file);
        return -1;
    }
    struct stat status;
    /* Without blocking, and the opened file itself is judged: a pipe would never answer. */
    int opened = open(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (opened >= 0 && fstat(opened, &status) == 0 && S_ISREG(status.st_mode)) return opened;
    snprintf(reason, size, "`%.200s` is no regular file", file);
    if (opened >= 0) close(opened);
    return -1;
}

static bool text_stats(const char *workspace, const char *file, char *answer, size_t size) {
    int opened = open_inside(workspace, file, answer, size);
    if (opened < 0) return false;
    static char block[65536];
    unsigned long long bytes = 0, lines = 0, words = 0, column = 0, longest = 0, longest_line = 1;
    bool in_word = false;
    ssize_t got;
    while ((got = read(opened, block, sizeof block)) > 0) {
        bytes += (unsigned long long)got;
        for (ssize_t index = 0; index < got; index++) {
            unsigned char byte = (unsigned char)block[index];
            if (!isspace(byte) && !in_word) words++;
            in_word = !isspace(byte);
            if (byte == '\n') lines++, column = 0;
            else if (++column > longest) longest = column, longest_line = lines + 1;
        }
    }
    close(opened);
    if (got < 0) {
        snprintf(answer, size, "cannot read `%.200s`: %s", file, strerror(errno));
        return false;
    }
    if (column > 0) lines++;
    snprintf(answer, size, "%llu lines, %llu words, %llu bytes; the longest line is %llu with %llu bytes", lines, words,
             bytes, longest_line, longest);
    return true;
}

/* ---- the protocol ---- */

static void put_head(Span id) {
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,", (int)(id.end - id.at), id.at);
}

static void refuse(Span id, int code, const char *message, const char *name) {
    char text[512];
    snprintf(text, sizeof text, message, name);
    put_head(id);
    printf("\"error\":{\"code\":%d,\"message\":", code);
    put_text(text);
    puts("}}");
}

static void answer_with(Span id, const char *result) {
    put_head(id);
    printf("\"result\":%s}\n", result);
}

static void call_tool(Span id, Span params) {
    Span value, meta, vibe;
    char *name = member(params, "name", &value) ? text_of(value) : NULL;
    if (name == NULL || strcmp(name, "text_stats") != 0) {
        refuse(id, -32602, "unknown tool `%.200s`", name == NULL ? "" : name);
        free(name);
        return;
    }
    free(name);
    char *file = member(params, "arguments", &value) && member(value, "file", &value) ? text_of(value) : NULL;
    bool has_context = member(params, "_meta", &meta) && member(meta, "vibe", &vibe);
    char *workspace = has_context && member(vibe, "workspace_root", &value) ? text_of(value) : NULL;
    char text[1024];
    bool works = false;
    if (file == NULL) snprintf(text, sizeof text, "`file` must be a string");
    else if (workspace == NULL) snprintf(text, sizeof text, "this call came without a workspace");
    else works = text_stats(workspace, file, text, sizeof text);
    free(file);
    free(workspace);
    put_head(id);
    printf("\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    put_text(text);
    printf("}],\"is_error\":%s}}\n", works ? "false" : "true");
}

/* Handles one line; false after `shutdown`. */
static bool receive(Span line) {
    static const Span none = {"null", "null" + 4};
    Span id, value, params = {NULL, NULL};
    const char *start = skip_space(line.at, line.end);
    if (start == line.end) return true;
    const char *after = skip_value(start, line.end);
    if (after == NULL || skip_space(after, line.end) != line.end) {
        refuse(none, -32700, "the line is no JSON%s", "");
        return true;
    }
    if (*start != '{') {
        refuse(none, -32600, "a message is an object%s", "");
        return true;
    }
    /* Without a method it is an answer, without an id a notification: neither is answered. */
    if (!member(line, "method", &value) || !member(line, "id", &id)) return true;
    if (*id.at != '"' && !isdigit((unsigned char)*id.at)) return true;
    char *method = text_of(value);
    if (method == NULL) {
        refuse(id, -32600, "`method` must be a string%s", "");
        return true;
    }
    member(line, "params", &params);
    bool goes_on = strcmp(method, "shutdown") != 0;
    if (strcmp(method, "initialize") == 0) {
        answer_with(id, "{\"name\":\"text-stats\",\"version\":\"1.0.0\",\"capabilities\":{\"tools\":true,\"agents\":false,"
                        "\"hooks\":false}}");
    } else if (strcmp(method, "tools/list") == 0) {
        answer_with(id, tools);
    } else if (strcmp(method, "tools/call") == 0) {
        call_tool(id, params);
    } else if (!goes_on || strcmp(method, "ping") == 0) {
        answer_with(id, "{}");
    } else {
        refuse(id, -32601, "method not found: %.200s", method);
    }
    free(method);
    return goes_on;
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    bool goes_on = true;
    /* Lines end at 0x0A and nowhere else. The loop ends with stdin: then the host is gone. */
    while (goes_on && (length = getline(&line, &room, stdin)) >= 0) {
        goes_on = receive((Span){line, line + length});
        /* stdout is a pipe and would keep the answer to itself. */
        fflush(stdout);
    }
    free(line);
    return 0;
}

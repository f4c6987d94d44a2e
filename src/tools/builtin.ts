import { z } from 'zod';
import type { Tool, ToolWorker } from '../protocol/tool.ts';
import { type BashSettings, runBash } from './bash.ts';
import { defineTool } from './define.ts';
import { editFile } from './edit-file.ts';
import { glob, spreadGlob } from './glob.ts';
import type { GlobInput } from './glob-search.ts';
import { grep, spreadGrep } from './grep.ts';
import type { GrepInput } from './grep-search.ts';
import { listDir } from './list-dir.ts';
import { readFile } from './read-file.ts';
import { fetchPage, type WebSettings } from './web-fetch.ts';
import { searchWeb } from './web-search.ts';
import { writeFile } from './write-file.ts';

export interface BuiltinToolOptions {
  readonly bash: BashSettings;
  readonly web?: WebSettings | undefined;
  /** URL with `{query}`; without it there is no `web_search`. */
  readonly searchEndpoint?: string | undefined;
  /** Folders that tools never write to, besides `.git` and `.vibe` (reliability PC5). */
  readonly protectedFolders?: readonly string[] | undefined;
}

/** The built-in tools in registration order (agent-runtime 16). */
export function createBuiltinTools(options: BuiltinToolOptions): readonly Tool[] {
  const { bash, web, searchEndpoint, protectedFolders } = options;
  return [
    readFileTool(),
    writeFileTool(protectedFolders),
    editFileTool(protectedFolders),
    listDirTool(),
    globTool(),
    grepTool(),
    bashTool(bash),
    webFetchTool(web ?? {}),
    ...(searchEndpoint === undefined ? [] : [webSearchTool(searchEndpoint)]),
  ];
}

const path = z.string().describe('Relative to the workspace, or absolute.');
const directory = path.default('.').describe('Where to look. Default: the workspace.');

function readFileTool(): Tool {
  return defineTool({
    name: 'read_file',
    description:
      'Reads a text file and shows its lines with numbers. Long files are shown in pages: use `offset` and `limit` to read on.',
    input: z.strictObject({
      path,
      offset: z.int().min(1).default(1).describe('First line to show, counted from 1.'),
      limit: z.int().min(1).max(10_000).default(2_000).describe('How many lines to show.'),
    }),
    permission: 'read',
    worker: threadModule('read-file', 'readFile'),
    execute: readFile,
  });
}

function writeFileTool(protectedFolders: readonly string[] | undefined): Tool {
  return defineTool({
    name: 'write_file',
    description:
      'Writes a whole file, replacing what was there, and makes the directories above it. To change a part of a file use `edit_file`.',
    input: z.strictObject({ path, content: z.string() }),
    mutating: true,
    permission: 'write',
    execute: (input, context) => writeFile(input, context, { protectedFolders }),
  });
}

function editFileTool(protectedFolders: readonly string[] | undefined): Tool {
  return defineTool({
    name: 'edit_file',
    description:
      'Replaces text in a file. `old_string` must match the file exactly, blanks and line breaks included, and occur once unless `replace_all` is set.',
    input: z.strictObject({
      path,
      old_string: z.string(),
      new_string: z.string(),
      replace_all: z.boolean().default(false),
    }),
    mutating: true,
    permission: 'edit',
    execute: (input, context) => editFile(input, context, { protectedFolders }),
  });
}

function listDirTool(): Tool {
  return defineTool({
    name: 'list_dir',
    description: 'Lists a directory as a tree. Entries that `.gitignore` excludes are left out.',
    input: z.strictObject({
      path: directory,
      depth: z.int().min(1).max(10).default(2).describe('How many levels to show.'),
    }),
    permission: 'read',
    worker: threadModule('list-dir', 'listDir'),
    execute: listDir,
  });
}

function globTool(): Tool {
  return defineTool({
    name: 'glob',
    description:
      'Finds files by a pattern of their path, newest first: `*` stays in one directory, `**` crosses them, `{a,b}` chooses. Entries that `.gitignore` excludes are left out.',
    input: z.strictObject({
      pattern: z.string().describe('Relative to `path`, such as `src/**/*.ts`.'),
      path: directory,
    }),
    permission: 'read',
    worker: {
      ...threadModule('glob', 'globShare'),
      stall: patternStall,
      spread: (call, input, threads) => spreadGlob(call, input as GlobInput, threads),
    },
    execute: glob,
  });
}

function grepTool(): Tool {
  return defineTool({
    name: 'grep',
    description:
      'Searches the lines of files by a JavaScript regular expression. Entries that `.gitignore` excludes, binary files and files over 10 MiB are left out.',
    input: z.strictObject({
      pattern: z.string().min(1),
      path: directory,
      glob: z.string().optional().describe('Only files this pattern matches; without `/` it is about their names.'),
      output_mode: z
        .enum(['files', 'content', 'count'])
        .default('files')
        .describe('`files`: paths only; `content`: matching lines; `count`: matching lines per file.'),
      context: z.int().min(0).max(10).default(0).describe('Lines around each match, with output mode `content`.'),
      case_insensitive: z.boolean().default(false),
    }),
    permission: 'read',
    worker: {
      ...threadModule('grep', 'grepShare'),
      stall: patternStall,
      spread: (call, input, threads) => spreadGrep(call, input as GrepInput, threads),
    },
    execute: grep,
  });
}

function bashTool(settings: BashSettings): Tool {
  return defineTool({
    name: 'bash',
    description:
      'Runs a shell command without a terminal and without input, and shows its output and exit code. What it leaves running is ended.',
    input: z.strictObject({
      command: z.string().min(1),
      timeout_secs: z.int().min(1).max(600).optional().describe('Seconds it may take.'),
      cwd: z.string().default('.').describe('Working directory. Default: the workspace.'),
    }),
    mutating: true,
    // It keeps its own limit (agent-runtime 18.2).
    timeout_ms: 0,
    permission: 'execute',
    execute: (input, context) => runBash(input, context, settings),
  });
}

function webFetchTool(settings: WebSettings): Tool {
  return defineTool({
    name: 'web_fetch',
    description: 'Fetches a public web page by http or https and shows its text.',
    input: z.strictObject({ url: z.string().min(1) }),
    permission: 'network',
    execute: ({ url }, context) => fetchPage(url, context, settings),
  });
}

function webSearchTool(endpoint: string): Tool {
  return defineTool({
    name: 'web_search',
    description: 'Searches the web and shows the first results with title, address and summary.',
    input: z.strictObject({ query: z.string().min(1) }),
    permission: 'network',
    execute: ({ query }, context) => searchWeb(query, context, endpoint),
  });
}

/** Silence after which a pattern is taken for one that never ends, in milliseconds (reliability WK8: at most 5 s in all). */
const patternStall = { after_ms: 2_500, content: 'The pattern took too long and was stopped. Use a simpler one.' };

/** The handler as a worker thread loads it: a module without zod, which would double the start of each thread. */
function threadModule(file: string, handler: string): ToolWorker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return { module: new URL(`./${file}.${extension}`, import.meta.url).href, export: handler };
}

import { mayMean, parseOptions, type OptionGrammar, type ParsedOptions } from './shell-options.ts';
import { refuseTarget } from './shell-paths.ts';
import { destructiveSql } from './shell-sql.ts';
import {
  deny,
  firstDenial,
  type Arg,
  type Call,
  type Denial,
  type ProgramRule,
  type ShellInput,
} from './shell-types.ts';

interface Client extends OptionGrammar {
  /** Options whose value is a statement. */
  readonly statements: readonly string[];
  /** Operands from this one on are statements, too. */
  readonly operandsFrom?: number;
  /** Options whose value is a file that is written. */
  readonly outputs: readonly string[];
  /** Options that name a program. */
  readonly programs?: readonly string[];
  readonly destructive: (text: string) => string | undefined;
}

const psqlLong = `--command --dbname --file --field-separator --host --log-file --output --port --pset --record-separator --set --variable --table-attr --username`;
const mysqlLong = `--execute --host --port --user --database --socket --tee --pager --init-command --delimiter --prompt --protocol`;

const mysql: Client = {
  values: 'eDhPSu',
  attached: 'p',
  longValues: mysqlLong.split(' '),
  statements: ['-e', '--execute', '--init-command'],
  outputs: ['--tee'],
  programs: ['--pager'],
  destructive: (text) =>
    /^\s*(?:system|pager|tee|\\!)\b|\\!|\\P|\\T|\binto\s+(?:outfile|dumpfile)\b/im.test(text)
      ? 'a client command'
      : destructiveSql(text),
};

const mongo: Client = {
  values: 'fpu',
  longValues: ['--eval', '--file', '--host', '--port', '--username', '--password', '--authenticationDatabase'],
  statements: ['--eval'],
  outputs: [],
  destructive: destructiveMongo,
};

const clients: ReadonlyMap<string, Client> = new Map<string, Client>([
  [
    'psql',
    {
      values: 'cdfFhLopPRTUv',
      longValues: psqlLong.split(' '),
      statements: ['-c', '--command', '-v', '--set', '--variable'],
      outputs: ['-o', '--output', '-L', '--log-file'],
      destructive: (text) =>
        /\\(?:!|o\b|out\b|w\b|write\b|copy\b|g\s*\||g\s+\S|gx\b|gexec\b|i\s*\||setenv\b|e\b|ef\b|ev\b|s\b)|\bprogram\s+'|\bpg_(?:read|write)_|\blo_export\b/i.test(
          text,
        )
          ? 'a client command'
          : destructiveSql(text),
    },
  ],
  ['mysql', mysql],
  ['mariadb', mysql],
  [
    'redis-cli',
    {
      values: 'hpsaunirtdDX',
      longValues: ['--user', '--pass', '--sni', '--cacert', '--cert', '--key', '--eval', '--pattern'],
      stops: true,
      statements: [],
      operandsFrom: 0,
      outputs: ['--rdb', '--functions-rdb'],
      destructive: destructiveRedis,
    },
  ],
  ['mongosh', mongo],
  ['mongo', mongo],
]);

/** The rule of each database client: statements that destroy are refused wherever the text shows them (rule 11). */
export const databaseRules: ReadonlyMap<string, ProgramRule> = new Map(
  [...clients].map(([name, client]) => [name, (call: Call) => refuseClient(call, client)]),
);

function refuseClient(call: Call, client: Client): Denial | undefined {
  const { program, args, scene } = call;
  const parsed = parseOptions(args, client);
  if (parsed.unclear !== undefined) return unknownStatement(parsed.unclear.text, program);
  const is = (name: string, names: readonly string[] | undefined): boolean =>
    names?.some((full) => mayMean(name, full)) === true;
  const runs = parsed.options.find(({ name }) => name.length !== 3 && is(name, client.programs));
  if (runs !== undefined) return deny('databases', `\`${program} ${runs.name}\` starts a program; run it without.`);
  const outputs = parsed.options.flatMap(({ name, value }) =>
    value !== undefined && is(name, client.outputs) ? [value] : [],
  );
  const written = firstDenial(outputs, (value) =>
    refuseTarget(value, scene, { rule: 'writes', by: program, does: 'write', exact: true }),
  );
  if (written !== undefined) return written;
  const texts = statementsOf(parsed, client, is);
  return (
    firstDenial(texts, (text) => refuseStatement(text, program, client)) ??
    refuseInput(call.scene.input, program, client)
  );
}

function statementsOf(
  parsed: ParsedOptions,
  client: Client,
  is: (name: string, names: readonly string[]) => boolean,
): readonly Arg[] {
  const named = parsed.options.flatMap(({ name, value }) =>
    value !== undefined && name.length !== 3 && is(name, client.statements) ? [value] : [],
  );
  if (client.operandsFrom === undefined) return named;
  const [first, ...rest] = parsed.operands.slice(client.operandsFrom);
  return first === undefined
    ? named
    : [
        ...named,
        {
          ...first,
          text: [first, ...rest].map((arg) => arg.text).join(' '),
          isOpen: [first, ...rest].some((arg) => arg.isOpen),
        },
      ];
}

function refuseStatement(text: Arg, program: string, client: Client): Denial | undefined {
  if (text.isUnknown && client.operandsFrom === undefined) return unknownStatement(text.text, program);
  const reason = client.destructive(text.text);
  return reason === undefined ? undefined : destroys(program, reason);
}

function unknownStatement(text: string, program: string): Denial {
  return deny(
    'databases',
    `The statement \`${text}\` for \`${program}\` is computed; write it out or put it into a file.`,
  );
}

function destroys(program: string, reason: string): Denial {
  return deny(
    'databases',
    `\`${program}\` must not run ${reason} from here; ask the user, or narrow the statement with a condition.`,
  );
}

/** Statements on standard input are judged as far as the line shows them; a file is the user's. */
function refuseInput(input: ShellInput, program: string, client: Client): Denial | undefined {
  if (input.kind === 'closed' || input.kind === 'file') return undefined;
  if (input.kind === 'text') {
    const reason = input.text === undefined ? undefined : client.destructive(input.text);
    if (input.text === undefined) return unknownStatement('<<', program);
    return reason === undefined ? undefined : destroys(program, reason);
  }
  const [first, ...rest] = input.stages;
  const name = first?.[0]?.text ?? '';
  if (
    /^(?:cat|zcat|gunzip|gzip|xzcat|pg_dump|mysqldump|mariadb-dump|pg_dumpall|sed|awk|envsubst)$/.test(name) &&
    input.first.kind !== 'text'
  )
    return undefined;
  const isPlain = rest.every((stage) => /^(?:cat|tee|sort|uniq|head|tail)$/.test(stage?.[0]?.text ?? ''));
  if (first === undefined || !/^(?:echo|printf)$/.test(name) || !isPlain) return unknownStatement(name || '|', program);
  const words = first.slice(1);
  const unknown = words.find((arg) => arg.isUnknown);
  if (unknown !== undefined) return unknownStatement(unknown.text, program);
  const reason = client.destructive(words.map((arg) => arg.text.replaceAll(/\\[nt]/g, ' ')).join(' '));
  return reason === undefined && !words.some((arg) => /\\[0-7x]/.test(arg.text))
    ? undefined
    : destroys(program, reason ?? 'encoded text');
}

function destructiveRedis(text: string): string | undefined {
  if (/flushall|flushdb/i.test(text)) return '`FLUSHALL` or `FLUSHDB`';
  return /(?:^|\s|')(?:config\s+(?:set|rewrite)|shutdown|debug|module\s+load|slaveof|replicaof|swapdb|script\s+flush|function\s+flush)\b/i.test(
    text,
  )
    ? 'a command that changes the server'
    : undefined;
}

function destructiveMongo(text: string): string | undefined {
  const bare = text.replaceAll(/\/\*[^]*?\*\//g, ' ');
  if (/\bdrop\w*\s*\(|\[\s*['"`]drop|['"`]?\bdrop(?:Database|Indexes|User|Role)?['"`]?\s*:/i.test(bare))
    return 'a drop call';
  if (
    /\b(?:deleteMany|deleteOne|remove|findOneAndDelete|bulkWrite)\s*\(\s*(?:\{\s*\}|\)|\{\s*_id\s*:\s*\{\s*\$exists\s*:\s*(?:true|1)\s*\}\s*\})/i.test(
      bare,
    )
  )
    return 'a delete without a filter';
  return /\[\s*['"`](?:delete|remove)|\brun(?:Program|NonMongoProgram)?\s*\(|child_process|\bexec(?:Sync|File)?\s*\(|\brequire\s*\(|\beval\s*\(/i.test(
    bare,
  )
    ? 'code that starts programs'
    : undefined;
}

const disposable = /test|dev|local|tmp|temp|scratch|sandbox|mock/i;

/** `dropdb`, `dropuser`: only names that say they are for one use. */
export const refuseDrop: ProgramRule = ({ program, args }) => {
  if (args.length === 1 && /^(?:--help|--version|-V|-\?)$/.test(args[0]?.text ?? '')) return undefined;
  const parsed = parseOptions(args, {
    values: 'hpU',
    longValues: ['--host', '--port', '--username', '--maintenance-db'],
  });
  const [name, ...more] = parsed.operands;
  if (
    parsed.unclear === undefined &&
    name !== undefined &&
    more.length === 0 &&
    !name.isUnknown &&
    disposable.test(name.text)
  )
    return undefined;
  return deny(
    'databases',
    `\`${program} ${name?.text ?? ''}\` is not allowed; only names that hold \`test\`, \`dev\`, \`local\`, \`tmp\` or the like may be dropped.`,
  );
};

/** `mysqladmin`: not `drop` and not `shutdown`. */
export const refuseAdmin: ProgramRule = ({ program, args }) => {
  const word = args.find((arg) => arg.isUnknown || /^(?:drop|shutdown|flush-\w+|kill)$/i.test(arg.text));
  return word === undefined
    ? undefined
    : deny('databases', `\`${program} ${word.text}\` is not allowed; ask the user to run it.`);
};

/** `sqlite3`: no commands of the client that start programs or write files elsewhere. */
export const refuseSqlite: ProgramRule = ({ program, args, scene }) => {
  const { input } = scene;
  const texts = args.map((arg) => ({ text: arg.text, isUnknown: arg.isUnknown }));
  if (input.kind === 'text') texts.push({ text: input.text ?? '.', isUnknown: input.text === undefined });
  if (input.kind === 'pipe')
    texts.push(...(input.stages[0] ?? []).map((arg) => ({ text: arg.text, isUnknown: arg.isUnknown })));
  const bad = texts.find(({ text }) =>
    /(?:^|\n|-cmd)[ \t]*\.(?:sh|sy|o|exc|i(?!nd)|lo|sav|bac|cl|ar|tra|ww)\w*|\b(?:load_extension|writefile|edit|fts3_tokenizer)\s*\(|\battach\b/i.test(
      text,
    ),
  );
  if (bad === undefined) return undefined;
  return deny(
    'databases',
    `\`${program}\` may only run plain statements here; leave out client commands such as \`.shell\` and \`.output\`.`,
  );
};

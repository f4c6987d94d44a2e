import fc from 'fast-check';

/** Programs that exist in the folder the generated commands run in; names shells could take for something else among them. */
export const stubNames = [
  ...'ls cat grep sudo rm rmdir id make npm git curl sort head tee cp mv touch reboot dd python3 node sed awk find'.split(
    ' ',
  ),
  '10',
  '3',
  '{fd}',
  'x+=1',
  'a[0]=1',
  'b',
  'b]',
  ']]',
  '[[',
  '((',
  'EOF',
  'PATH=x',
  'X=1',
  '-o',
  'fd',
  'function',
  'select',
  'coproc',
  'done',
  '}',
  '!',
];

/** Programs that start others; here they are real. */
export const wrapperNames = ['sh', 'bash', 'env', 'nice', 'nohup', 'timeout', 'xargs', 'setsid'];

/** Mostly what the policy may allow, so that most commands get as far as a shell; now and then what it must refuse. */
function rarely(common: readonly string[], rare: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 24, arbitrary: fc.constantFrom(...common) },
    { weight: 1, arbitrary: fc.constantFrom(...rare) },
  );
}

const program = rarely(
  [
    'ls',
    'cat',
    'grep',
    'make',
    'id',
    'echo',
    'printf',
    'true',
    'npm',
    'git status',
    'head',
    'sort',
    'rm -f a b',
    'touch a',
    'cp a b',
    '[ a ] &&',
    'cd src &&',
    'set -- a;',
  ],
  ['sudo', 'rm', 'touch', 'cd', 'reboot', '"sudo"', 's\\udo', '$X', '[[', 'x+=1', '10', '{fd}', 'time -o', 'function'],
);
const word = rarely(
  [
    'a',
    'x',
    '-l',
    'src',
    '"a b"',
    "'a;b'",
    'a\\ b',
    '*.ts',
    '$X',
    '"$X"',
    '${X:-y}',
    '${X#a}',
    '$((1+2))',
    '$((X))',
    '"$((Y + 1))"',
    '$?',
    "'$(sudo id)'",
    '"\\$(sudo)"',
    "'`sudo`'",
    '../x',
    '~',
    '.',
    '..',
    '{a,b}',
    '"$@"',
    'a#b',
    '\\#',
    '-',
    '--',
    '=',
    '!',
    'in',
    'do',
    '{',
    '}',
    '[',
    ']',
    "$'a'",
    "''",
    '""',
    '"a\nb"',
    '\\\n',
    'x"y"z',
    '"\\""',
    "'\"'",
    '\\\\',
    '%',
    '^',
    ',',
    '@',
  ],
  ['/tmp/x', '.git', '#', '$"a"', '$IFS', '${X@P}', "$'a\\'b'", '@(a)', '$[1]', '${!X}', '\\', '"', "'"],
);
const redirect = rarely(
  [
    '> out',
    '>> out',
    '2>&1',
    '2> err',
    '> "o u t"',
    '>| out',
    '&> out',
    '>&2',
    '< in',
    '<> io',
    '> /dev/null',
    '3> out',
    '<<< hi',
    '2>&1 > out',
    '>out',
    '>src/out',
  ],
  [
    '> ../out',
    '> ~/out',
    '> .git/x',
    '> $X',
    '10> out',
    '{fd}> out',
    '&> out sudo id',
    '> sub/../../out',
    '> {a,b}',
    '>& ../out',
    '> /dev/tcp/x/1',
  ],
);
const assignment = rarely(
  [
    'X=1',
    'Y=$((X+1))',
    'X=$(wc -l)',
    "X='b[$(sudo id)]'",
    'X="a b"',
    'Y=$X',
    'X=',
    "X='$(sudo id)'",
    'X=~/x',
    'X=*',
    'X=a\\ b',
  ],
  ['PATH=x', 'X=$(sudo id)', 'X+=1', 'a[0]=1', 'IFS=x', '"X=1"', 'X=(a b)', 'ENV=x'],
);
const separator = fc.constantFrom(
  '; ',
  ' && ',
  ' || ',
  ' | ',
  ' & ',
  '\n',
  ' |& ',
  ';',
  '&',
  '|',
  ' ;\n',
  ' &&\n',
  '\n# it is (\n',
);

/** Fragments that break a text in the middle. */
const noise = fc.constantFrom(
  ...'\' " \\ ` $ ( ) { } [ ] < > & | ; ! # ~ * ? = - ^ % , : @'.split(' '),
  '\n',
  ' ',
  '\t',
  '$(',
  '`sudo`',
  '$(sudo id)',
  '${',
  '$((',
  '))',
  '[[',
  ']]',
  "$'",
  '\\\n',
  ' sudo ',
  '; sudo id',
  '\nsudo id\n',
  '|sudo',
  '&sudo',
  "\\'",
  '\\"',
  '#\n',
  ' #',
  '<<',
  '<(',
  '>(',
  '&>',
  '2>',
  '!!',
  '@(',
  '{fd}>',
);

const { command } = fc.letrec<{ command: string }>((tie) => ({
  command: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    simple(tie('command')),
    simple(tie('command')),
    fc.tuple(tie('command'), separator, tie('command')).map(([left, between, right]) => left + between + right),
    fc.tuple(tie('command'), tie('command')).map(([clause, body]) => `if ${clause}; then ${body}; fi`),
    fc.tuple(word, tie('command')).map(([item, body]) => `for X in a ${item}; do ${body}; done`),
    tie('command').map((body) => `while false; do ${body}; done`),
    fc.tuple(tie('command'), redirect).map(([body, to]) => `(${body}) ${to}`),
    fc.tuple(tie('command'), redirect).map(([body, to]) => `{ ${body}; } ${to}`),
    tie('command').map((body) => `! ${body}`),
    tie('command').map((body) => `time ${body}`),
    tie('command').map((body) => `eval ${quote(body)}`),
    tie('command').map((body) => `sh -c ${quote(body)}`),
    tie('command').map((body) => `bash -ec ${quote(body)} x y`),
    tie('command').map((body) => `trap ${quote(body)} EXIT`),
    fc
      .tuple(
        fc.constantFrom(
          'env',
          'env X=1',
          'nice',
          'nice -n 5',
          'nohup',
          'timeout 5',
          'setsid',
          'command',
          'exec',
          'builtin',
          'env -i',
        ),
        tie('command'),
      )
      .map(([by, body]) => `${by} ${body}`),
    fc
      .tuple(
        fc.constantFrom('echo a | xargs', 'echo sudo id | xargs', 'echo b | xargs -n1', 'echo c | xargs -I{}'),
        tie('command'),
      )
      .map(([by, body]) => `${by} ${body}`),
    fc
      .tuple(fc.constantFrom('EOF', "'EOF'", '"EOF"', '\\EOF', 'E"O"F'), tie('command'), tie('command'))
      .map(([end, body, after]) => `cat <<${end}\n${body}\n$(${body})\nEOF\n${after}`),
    fc
      .tuple(rarely(['', '{ :; }; '], ['case x in x) ', 'f() { ', '[[ x ]] || ', '((']), tie('command'))
      .map(([before, body]) => before + body + (closers[before] ?? '')),
  ),
}));

const closers: Readonly<Record<string, string>> = { 'case x in x) ': ';; esac', 'f() { ': '; }; f', '((': '))' };

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function simple(nested: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const argument = fc.oneof(
    { weight: 8, arbitrary: word },
    { weight: 1, arbitrary: nested.map((text) => `$(${text})`) },
    { weight: 1, arbitrary: nested.map((text) => `"$(${text})"`) },
    { weight: 1, arbitrary: nested.map((text) => `\`${text}\``) },
    { weight: 1, arbitrary: nested.map((text) => `"\`${text}\`"`) },
    { weight: 1, arbitrary: nested.map((text) => `\${X:-$(${text})}`) },
    { weight: 1, arbitrary: nested.map((text) => `<(${text})`) },
    { weight: 1, arbitrary: nested.map((text) => `$(( $(${text}) + 1 ))`) },
    { weight: 1, arbitrary: nested.map((text) => `'${text}'`) },
  );
  return fc
    .tuple(
      fc.array(assignment, { maxLength: 1 }),
      program,
      fc.array(argument, { maxLength: 3 }),
      fc.array(redirect, { maxLength: 1 }),
      fc.boolean(),
    )
    .map(([before, name, args, redirects, isFirst]) =>
      [...before, ...(isFirst ? redirects : []), name, ...args, ...(isFirst ? [] : redirects)].join(' '),
    );
}

/** Command lines: most of them whole, some with a fragment put in or a piece cut out. */
export const shellCommands: fc.Arbitrary<string> = fc
  .tuple(command, fc.array(fc.tuple(fc.nat(), noise, fc.nat({ max: 3 })), { maxLength: 2 }), fc.nat({ max: 3 }))
  .map(([text, changes, keep]) => {
    if (keep > 0) return text;
    return changes.reduce((result, [at, fragment, cut]) => {
      const index = at % (result.length + 1);
      return result.slice(0, index) + fragment + result.slice(index + cut);
    }, text);
  });

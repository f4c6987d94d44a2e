import type { OptionGrammar } from './shell-options.ts';

/** A program that can start others or write files through options (CP4). */
export interface OptionProgram extends OptionGrammar {
  /** Options that start a program or load code. */
  readonly starts?: readonly string[];
  /** Options whose value is a file that is written. */
  readonly writes?: readonly string[];
  /** Options whose value is a file of commands, options whose value is a folder to work in. */
  readonly scripts?: readonly string[];
  readonly enters?: readonly string[];
  /** An option that sets what a configuration file would, and the values it may have. */
  readonly settings?: readonly [name: string, harmless: RegExp];
  /** Any argument that matches is refused. */
  readonly refused?: RegExp;
}

const pager: OptionProgram = {
  values: 'bhjPtTxyzkoOD',
  starts: ['-k', '--lesskey-file', '--lesskey-src', '--lesskey-content'],
  writes: ['-o', '-O', '--log-file', '--LOG-FILE'],
  refused: /^\+/,
};

const make: OptionProgram = {
  values: 'CfIoW',
  attached: 'jlO',
  longValues: [
    '--directory',
    '--file',
    '--makefile',
    '--include-dir',
    '--old-file',
    '--assume-old',
    '--what-if',
    '--new-file',
    '--eval',
  ],
  starts: ['-E', '--eval'],
  scripts: ['-f', '--file', '--makefile'],
  enters: ['-C', '--directory'],
  refused:
    /^(?:SHELL|\.SHELLFLAGS|MAKE|MAKEFLAGS|MAKEFILES)[:+?!]*=|\$[({]\s*(?:shell|eval|call|file|guile|foreach|if|or|and|let)\b/,
};

export const programTable: ReadonlyMap<string, OptionProgram> = new Map<string, OptionProgram>([
  [
    'sort',
    {
      values: 'kStTo',
      longValues: [
        '--key',
        '--output',
        '--buffer-size',
        '--field-separator',
        '--compress-program',
        '--temporary-directory',
        '--batch-size',
        '--parallel',
        '--random-source',
        '--files0-from',
      ],
      starts: ['--compress-program'],
      writes: ['-o', '--output', '-T', '--temporary-directory'],
    },
  ],
  [
    'man',
    {
      values: 'CRLmMsSeErPpHZ',
      longValues: ['--pager', '--config-file', '--preprocessor', '--encoding', '--html', '--browser'],
      attached: 'HXTZ',
      starts: [
        '-P',
        '--pager',
        '-H',
        '--html',
        '--browser',
        '-C',
        '--config-file',
        '-p',
        '--preprocessor',
        '-Z',
        '--ditroff',
      ],
    },
  ],
  ['less', pager],
  ['more', pager],
  ['most', pager],
  ['make', make],
  ['gmake', make],
  ['ninja', { values: 'Cfjkldtw', enters: ['-C'], scripts: ['-f'] }],
  ['rg', { starts: ['--pre', '--hostname-bin', '--search-zip-program'], values: 'efgtTmABCEjrMd' }],
  [
    'curl',
    {
      values: 'AbCcdDeEFHhKmoPQrTtuUwxXyYz',
      longValues: [
        '--output',
        '--output-dir',
        '--dump-header',
        '--cookie-jar',
        '--trace',
        '--trace-ascii',
        '--stderr',
        '--config',
        '--libcurl',
        '--hsts',
        '--alt-svc',
        '--etag-save',
        '--unix-socket',
        '--engine',
        '--quote',
      ],
      starts: ['-K', '--config', '--engine'],
      writes: [
        '-o',
        '--output',
        '--output-dir',
        '-D',
        '--dump-header',
        '-c',
        '--cookie-jar',
        '--trace',
        '--trace-ascii',
        '--stderr',
        '--libcurl',
        '--hsts',
        '--alt-svc',
        '--etag-save',
      ],
    },
  ],
  [
    'wget',
    {
      values: 'oOaPietTUwQBADRIXl',
      longValues: [
        '--output-document',
        '--output-file',
        '--append-output',
        '--directory-prefix',
        '--execute',
        '--config',
        '--use-askpass',
        '--save-cookies',
        '--hsts-file',
        '--warc-file',
        '--rejected-log',
        '--input-file',
      ],
      starts: ['-e', '--execute', '--config', '--use-askpass'],
      writes: [
        '-o',
        '-O',
        '-a',
        '-P',
        '--output-document',
        '--output-file',
        '--append-output',
        '--directory-prefix',
        '--save-cookies',
        '--hsts-file',
        '--warc-file',
        '--rejected-log',
      ],
    },
  ],
  [
    'ssh',
    {
      values: 'BbcDEeFIiJLlmOopQRSWw',
      starts: ['-F', '-I'],
      writes: ['-E'],
      refused:
        /(?:proxycommand|localcommand|knownhostscommand|pkcs11provider|securitykeyprovider)|^(?:-o)?\s*(?:include|match)\b/i,
      stops: true,
    },
  ],
  [
    'scp',
    { values: 'cDFiJloPSX', starts: ['-S', '-F', '-D'], refused: /(?:proxycommand|localcommand|knownhostscommand)/i },
  ],
  [
    'sftp',
    {
      values: 'BbcDFiJloPRSs',
      starts: ['-S', '-F', '-D', '-b'],
      refused: /(?:proxycommand|localcommand|knownhostscommand)/i,
    },
  ],
  ['nc', { values: 'eciIlmMOPpqsTVwXx', starts: ['-e', '-c'] }],
  [
    'ncat',
    {
      values: 'ecgGidmoxpsw',
      longValues: ['--exec', '--sh-exec', '--lua-exec', '--output', '--hex-dump'],
      starts: ['-e', '-c', '--exec', '--sh-exec', '--lua-exec'],
      writes: ['-o', '-x', '--output', '--hex-dump'],
    },
  ],
  ['netcat', { values: 'eciIlmMOPpqsTVwXx', starts: ['-e', '-c'] }],
  [
    'openssl',
    {
      single: true,
      longValues: ['-out', '-engine', '-config', '-keyout', '-writerand'],
      starts: ['-engine', '-config', '-provider'],
      writes: ['-out', '-keyout', '-writerand'],
    },
  ],
  [
    'gpg',
    {
      values: 'ourN',
      longValues: ['--output', '--options', '--exec-path', '--agent-program', '--dirmngr-program', '--homedir'],
      starts: ['--options', '--exec-path', '--agent-program', '--dirmngr-program', '--photo-viewer'],
      writes: ['-o', '--output'],
    },
  ],
  ['tcpdump', { values: 'BcCFGijmMrsTVwWyzZ', starts: ['-z'], writes: ['-w'] }],
  [
    'pandoc',
    {
      values: 'frtwodFLHBAVMTDc',
      longValues: ['--output', '--filter', '--lua-filter', '--pdf-engine', '--extract-media', '--log'],
      starts: ['-F', '-L', '--filter', '--lua-filter', '--pdf-engine'],
      writes: ['-o', '--output', '--extract-media', '--log'],
    },
  ],
  [
    'ctags',
    { values: 'fhoIL', longValues: ['--options', '--output-format'], starts: ['--options'], writes: ['-f', '-o'] },
  ],
  ['dc', { values: 'ef', longValues: ['--expression', '--file'], refused: /!/, scripts: ['-f', '--file'] }],
  ['m4', { values: 'DUIBHNLsFR', refused: /syscmd/, starts: ['-F', '-R'] }],
  ['gdb', { refused: /^-{1,2}(?:ex|eval|x|command|iex|ix|init|eiex|eix|early|cd|data)/ }],
  ['lldb', { values: 'osSOkK', starts: ['-o', '-O', '-s', '-S', '-k', '-K', '--one-line', '--source', '--batch'] }],
  ['ag', { starts: ['--pager'] }],
  ['ack', { starts: ['--pager'] }],
  ['bat', { starts: ['--pager'] }],
  ['batcat', { starts: ['--pager'] }],
  ['delta', { starts: ['--pager'] }],
  ['fzf', { starts: ['--preview', '--bind', '--with-shell', '--become'] }],
  ['hg', { starts: ['--config'] }],
  ['jj', { starts: ['--config', '--config-toml', '--config-file', '--tool'] }],
  ['svn', { starts: ['--config-option', '--config-dir', '--editor-cmd', '--diff-cmd', '--diff3-cmd', '--merge-tool'] }],
  ['java', { refused: /^-XX:On\w+=/ }],
  ['mvn', { refused: /^-Dexec\.executable/ }],
  ['bazel', { starts: ['--run_under'] }],
  ['ctest', { starts: ['--test-command', '--build-and-test'] }],
  ['gh', { refused: /^alias$/ }],
  ['socat', { refused: /^(?:exec|system|shell|open|create|gopen|pipe)\b/i }],
  ['rpm', { starts: ['-E', '--eval', '--define', '--pipe', '--macros', '--rcfile'] }],
  [
    'dpkg',
    { longValues: ['--pre-invoke', '--post-invoke'], starts: ['--pre-invoke', '--post-invoke', '--status-logger'] },
  ],
  ['apt', { values: 'oct', starts: ['-o', '-c', '--option', '--config-file'] }],
  ['apt-get', { values: 'oct', starts: ['-o', '-c', '--option', '--config-file'] }],
  ...['gcc', 'g++', 'cc', 'c++', 'clang', 'clang++'].map((name): [string, OptionProgram] => [
    name,
    { refused: /^-(?:wrapper|fplugin|specs|B.)/ },
  ]),
  [
    'npm',
    { refused: /^--(?:script-shell|node-options|userconfig|globalconfig|git|editor|viewer|browser|prefix-dir)(?:=|$)/ },
  ],
  ['pip', { longValues: ['--editor', '--log'], starts: ['--editor'], writes: ['--log'] }],
  ['go', { refused: /^-{1,2}(?:toolexec|exec|vettool|overlay)(?:=|$)/ }],
  [
    'cargo',
    {
      refused: /(?:runner|linker|rustc-wrapper|rustc)\s*=/,
      longValues: ['--config', '--target-dir', '--color', '--manifest-path'],
      // Other keys, and files of keys, name programs to start or what others stand for.
      settings: [
        '--config',
        /^(?:(?:profile|term|future-incompat-report)\.|net\.(?:offline|retry)\b|build\.(?:jobs|incremental|target)\b)[\w.\s"-]*=/,
      ],
    },
  ],
  ['xsltproc', { longValues: ['--output'], writes: ['-o', '--output'], values: 'o' }],
]);

import { isDevice, isExact, namesBelow, refuseManyPaths, refuseTarget, resolveIn } from './shell-paths.ts';
import { refuseProtected } from './path-rules.ts';
import { firstDenial, type Arg, type Call, type Denial } from './shell-types.ts';

/** Programs whose `-o` says something else than where to write. */
const otherMeaning = new Set(
  `grep egrep fgrep zgrep rg ag ack ls ps pgrep unzip test [ find set bash sh zsh ssh scp sftp mount df lsof kubectl helm gcloud az aws docker
  iostat vmstat nl od printf echo expr git psql join shopt read sysctl column lsblk findmnt dpkg apt apt-get ip stat busctl env node npm npx
  pnpm yarn cp mv`.split(/\s+/),
);

const outputOption =
  /^--(?:output|out|outfile|output-file|output-dir|output-directory|output-path|out-file|outdir|out-dir|log-file|logfile|dump|destdir|target-dir|report-file|result-file|export-filename|save-to|pack-destination|(?:cpu|heap)-prof-dir|diagnostic-dir|report-dir(?:ectory)?|redirect-warnings|snapshot-blob|localstorage-file)$/i;

/** `-o` and `--output` of any program must not lead out of the workspace (CP7). */
export function refuseOutputs(call: Call): Denial | undefined {
  const { program, args } = call;
  return firstDenial(outputsOf(program, args), (value) => refuseOutput(value, call));
}

function outputsOf(program: string, args: readonly Arg[]): readonly Arg[] {
  return args.flatMap((arg, index) => {
    const next = args[index + 1];
    const equals = arg.text.indexOf('=');
    const name = equals < 0 ? arg.text : arg.text.slice(0, equals);
    if (outputOption.test(name)) return equals < 0 ? (next ?? []) : [{ ...arg, text: arg.text.slice(equals + 1) }];
    if (otherMeaning.has(program) || !/^-o./.test(`${arg.text} `)) return [];
    return arg.text === '-o' ? (next ?? []) : [{ ...arg, text: arg.text.slice(2) }];
  });
}

/** Only what is seen to lead outside is refused: of a program that is not known, the value may be anything. */
export function refuseOutput(value: Arg, { program, scene }: Call): Denial | undefined {
  if (isDevice(value.text) || value.text === '-') return undefined;
  const tooMany = refuseManyPaths(scene, 'writes');
  if (tooMany !== undefined) return tooMany;
  const looksLikePath = /^(?:\/|~|\.\.?(?:\/|$))|\/\.\.(?:\/|$)/.test(value.text);
  const isProtected = scene.directories.some((from) => {
    const names = namesBelow(scene.policy.root, resolveIn(scene.policy, from, value.text));
    return names !== undefined && refuseProtected(names) !== undefined;
  });
  if (!looksLikePath && !isProtected && !value.maySteer) {
    if (isExact(value))
      for (const from of scene.directories) scene.ledger.written.add(resolveIn(scene.policy, from, value.text));
    return undefined;
  }
  return refuseTarget(value, scene, { rule: 'writes', by: program, does: 'write', exact: false });
}

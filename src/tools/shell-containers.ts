import { refuseOutput } from './shell-outputs.ts';
import { refuseTarget } from './shell-paths.ts';
import { deny, firstDenial, literalArg, type Arg, type Call, type Denial } from './shell-types.ts';

/** Options of `run` and `create` that take no value; a container engine has far more of the other kind. */
const switches =
  /^--(?:detach|interactive|tty|rm|init|privileged|read-only|no-healthcheck|oom-kill-disable|sig-proxy|publish-all|quiet|help|replace|no-hosts|no-deps|build|service-ports|use-aliases|remove-orphans)$/;
const shortSwitches = /^[ditPq]$/;

/** Options that give a container the machine, some of them only with the value `host`. */
const powers = /^--(?:privileged|device|device-cgroup-rule|cap-add|security-opt)$/;
const namespaces = /^--(?:pid|ipc|uts|userns|cgroupns)$/;

/** `docker` and its kin: what they may write outside of the container (CP4, CP7). */
export function refuseContainer(call: Call): Denial | undefined {
  const { args } = call;
  const at = args.findIndex(({ text }) => /^(?:run|create|cp|save|export|build|exec)$/.test(text));
  const words = args.slice(at + 1);
  const verb = args[at]?.text ?? '';
  if (verb === 'run' || verb === 'create') {
    return firstDenial(readOptions(words), (option) => refuseRunOption(option, call));
  }
  if (verb === 'cp') {
    const target = words.at(-1);
    const isLocal = target !== undefined && !/^[^/.]*:/.test(target.text);
    return isLocal ? refuseOutput(target, call) : undefined;
  }
  // What `exec` is given runs inside.
  return verb === 'exec' ? undefined : firstDenial(readOptions(words), (option) => refuseSaved(option, call));
}

interface Option {
  readonly name: string;
  readonly value: Arg | undefined;
}

/** Up to the first operand, which is the image: what follows runs inside. */
function readOptions(args: readonly Arg[]): readonly Option[] {
  const options: Option[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined || arg.text === '--' || !arg.text.startsWith('-')) break;
    const option = arg.text.startsWith('--') ? longOption(arg) : shortOption(arg);
    // why: a word with a dash is no value, so that an unknown option without one hides nothing behind it
    if (option.value === 'next' && args[index + 1]?.text.startsWith('-') === false) {
      index += 1;
      options.push({ name: option.name, value: args[index] });
    } else options.push({ name: option.name, value: option.value === 'next' ? undefined : option.value });
  }
  return options;
}

type Written = { readonly name: string; readonly value: Arg | 'next' | undefined };

function longOption(arg: Arg): Written {
  const equals = arg.text.indexOf('=');
  if (equals < 0) return { name: arg.text, value: switches.test(arg.text) ? undefined : 'next' };
  return { name: arg.text.slice(0, equals), value: { ...arg, text: arg.text.slice(equals + 1) } };
}

function shortOption(arg: Arg): Written {
  let at = 1;
  while (shortSwitches.test(arg.text.charAt(at))) at += 1;
  const name = `-${arg.text.charAt(at)}`;
  const rest = arg.text.slice(at + 1).replace(/^=/, '');
  if (name === '-') return { name: arg.text, value: undefined };
  return { name, value: rest === '' ? 'next' : { ...arg, text: rest } };
}

function refuseRunOption({ name, value }: Option, call: Call): Denial | undefined {
  const { program } = call;
  if (powers.test(name) ? value?.text !== 'false' : namespaces.test(name) && value?.text === 'host') {
    return deny('options', `\`${name}\` gives a container of \`${program}\` the machine; run it without.`);
  }
  if (value === undefined) return undefined;
  if (name === '-v' || name === '--volume') return refuseMount(value, value.text.split(':'), call);
  if (name === '--mount') return refuseMountFields(value, call);
  const device = /^(?:-o|--opt)$/.test(name) ? /^device=(.*)$/s.exec(value.text)?.[1] : undefined;
  return device === undefined ? refuseSaved({ name, value }, call) : refuseMount(value, [device, '/'], call);
}

function refuseMountFields(value: Arg, call: Call): Denial | undefined {
  const fields = new Map(
    value.text.split(',').map((field) => {
      const [key = '', ...rest] = field.split('=');
      return [key, rest.join('=')] as const;
    }),
  );
  const source = fields.get('source') ?? fields.get('src');
  if (source === undefined) return undefined;
  const isReadOnly = ['readonly', 'ro'].some((key) => fields.has(key) && fields.get(key) !== 'false');
  return refuseMount(value, isReadOnly ? [source, '/', 'ro'] : [source, '/'], call);
}

/** A folder of the machine in a container can be written from there; one that is only read is as good as `cat`. */
function refuseMount(
  arg: Arg,
  [source = '', target, options = '']: readonly string[],
  { program, scene }: Call,
): Denial | undefined {
  if (target === undefined || /^[\w][\w.-]*$/.test(source)) return undefined; // a volume of the engine's own
  const isReadOnly = options.split(',').includes('ro') && !source.endsWith('.sock');
  if (isReadOnly) return undefined;
  // The line cannot give these another value: `PWD` is one of the variables it may not set.
  const here = /^(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`)(?=\/|$)/.exec(source)?.[0];
  const path = here === undefined ? { ...arg, text: source } : literalArg(`.${source.slice(here.length)}`);
  return refuseTarget(path, scene, { rule: 'writes', by: program, does: 'write', exact: true });
}

/** `docker save -o`, `docker build --output type=local,dest=…`. */
function refuseSaved({ name, value }: Option, call: Call): Denial | undefined {
  if (value === undefined || !/^(?:-o|--output)$/.test(name)) return undefined;
  const text = /(?:^|,)dest=([^,]*)/.exec(value.text)?.[1] ?? value.text;
  return refuseOutput({ ...value, text }, call);
}

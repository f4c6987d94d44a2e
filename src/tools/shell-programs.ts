import { findOption, mayMean, parseOptions } from './shell-options.ts';
import { refuseTarget } from './shell-paths.ts';
import { programTable, type OptionProgram } from './shell-program-table.ts';
import { refuseScriptFile } from './shell-scripts.ts';
import { deny, firstDenial, type Call, type Denial, type ProgramRule } from './shell-types.ts';
import { unclearTarget } from './shell-writers.ts';

/** The rule of each such program. */
export const programRules: ReadonlyMap<string, ProgramRule> = new Map(
  [...programTable].map(([name, program]) => [name, (call: Call) => refuseByOptions(call, program)]),
);

function refuseByOptions(call: Call, table: OptionProgram): Denial | undefined {
  const { program, args, scene } = call;
  const parsed = parseOptions(args, table);
  const watches = table.starts !== undefined || table.writes !== undefined || table.refused !== undefined;
  if (watches && parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const refused = args.find((arg) => table.refused?.test(arg.text) === true);
  if (refused !== undefined) return starts(refused.text, program);
  const found = findOption(parsed, ...(table.starts ?? []));
  if (found !== undefined && (found.name.length !== 3 || !found.name.startsWith('--')))
    return starts(found.name, program);
  const is = (name: string, names: readonly string[] | undefined): boolean =>
    names?.some((full) => mayMean(name, full)) === true;
  return firstDenial(parsed.options, ({ name, value }) => {
    if (value === undefined) return undefined;
    if (table.settings !== undefined && mayMean(name, table.settings[0]) && !table.settings[1].test(value.text))
      return starts(`${name} ${value.text}`, program);
    if (is(name, table.writes) && value.text !== '-')
      return refuseTarget(value, scene, { rule: 'writes', by: program, does: 'write', exact: true });
    if (is(name, table.enters))
      return refuseTarget(value, scene, { rule: 'directories', by: program, does: 'enter', exact: true });
    return is(name, table.scripts) ? refuseScriptFile(value, call) : undefined;
  });
}

function starts(what: string, program: string): Denial {
  return deny('options', `\`${what}\` makes \`${program}\` start a program or obey other settings; run it without.`);
}

import { refuseOutput } from './shell-outputs.ts';
import { firstDenial, type Call, type ProgramRule } from './shell-types.ts';

/** Programs that rewrite the files they are given, and the options that make them do so; nothing: always. */
const formatters: ReadonlyMap<string, RegExp | undefined> = new Map<string, RegExp | undefined>([
  ['clang-format', /^-i$/],
  ['prettier', /^-w$|^--write$/],
  ['gofmt', /^-w$/],
  ['goimports', /^-w$/],
  ['shfmt', /^-\w*w/],
  ['rustfmt', undefined],
  ['black', undefined],
  ['isort', undefined],
  ['autopep8', /^-\w*i|^--in-place$/],
  ['yapf', /^-\w*i|^--in-place$/],
  ['ruff', /^format$|^--fix$/],
  ['eslint', /^--fix$/],
  ['biome', /^--(?:write|fix|apply|apply-unsafe)$/],
  ['yq', /^-\w*i|^--inplace$/],
  ['sd', undefined],
]);

/** The rule of each: no file outside the workspace is rewritten. */
export const formatterRules: ReadonlyMap<string, ProgramRule> = new Map(
  [...formatters].map(([name, writes]) => [
    name,
    (call: Call) => {
      const { args } = call;
      if (writes !== undefined && !args.some(({ text }) => writes.test(text))) return undefined;
      const files = args.filter(({ text, isUnknown }, index) => {
        const before = args[index - 1]?.text ?? '';
        return !isUnknown && !text.startsWith('-') && !/^-c$|^--(?:\w+-)*(?:config|path|plugin)$/.test(before);
      });
      return firstDenial(files, (file) => refuseOutput(file, call));
    },
  ]),
);

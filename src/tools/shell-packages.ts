import { noteScript } from './shell-scripts.ts';
import { resolveIn } from './shell-paths.ts';
import { deny, type Arg, type ProgramRule } from './shell-types.ts';

/** `npm`, `pnpm`, `yarn`, `bun`: settings of the user, and scripts that the line itself has written. */
export const refusePackageManager: ProgramRule = ({ program, args, scene }) => {
  const words = args.filter(({ text }) => !text.startsWith('-'));
  const [command, action] = words.map(({ text }) => text);
  const setsOption = /^(?:config|c)$/.test(command ?? '') && /^(?:set|edit|delete|rm|unset|fix)$/.test(action ?? '');
  if (setsOption || command === 'set') {
    return deny(
      'options',
      `\`${program} ${command}\` changes settings outside of the workspace; put them into a settings file of the project.`,
    );
  }
  if (command === 'explore' || command === 'edit') {
    return deny('options', `\`${program} ${command}\` starts a shell or an editor; work in the folder of the package.`);
  }
  const manifest = scene.directories.map((from) => resolveIn(scene.policy, from, 'package.json'));
  if (command === 'pkg' && setsScripts(words)) for (const path of manifest) scene.ledger.written.add(path);
  if (runners.test(command ?? '')) noteScript(manifest, 'package.json', program, scene);
  return undefined;
};

const runners = /^(?:run|run-script|rum|urn|test|t|tst|start|stop|restart)$/;

function setsScripts(words: readonly Arg[]): boolean {
  return words.slice(1).some(({ text }) => /^scripts\b/.test(text));
}

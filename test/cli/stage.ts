import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { buildCommandLine } from './built.ts';
import { openStage, type Stage } from './command.ts';

/**
 * A fresh stage for each test of a file; declare it before the tests. After a test nothing that a command of it started may
 * still run.
 */
export function useStage(): Omit<Stage, 'leftovers' | typeof Symbol.asyncDispose> {
  let opened: Stage | undefined;

  function current(): Stage {
    if (opened === undefined) throw new Error('no test is running');
    return opened;
  }

  // the first build may take longer than a test may
  beforeAll(async () => void (await buildCommandLine()), 180_000);
  beforeEach(async () => {
    opened = await openStage();
  });
  afterEach(async () => {
    const leftovers = await current().leftovers();
    await current()[Symbol.asyncDispose]();
    expect(leftovers).toEqual([]);
  });
  return {
    get root() {
      return current().root;
    },
    get configDir() {
      return current().configDir;
    },
    write: (file, text) => current().write(file, text),
    configure: (toml) => current().configure(toml),
    start: (args, env) => current().start(args, env),
    run: (args, env) => current().run(args, env),
  };
}

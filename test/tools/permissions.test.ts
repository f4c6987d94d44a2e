import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const fixture = fileURLToPath(new URL('../fixtures/tools/unprivileged-calls.ts', import.meta.url));
const nobody = 65_534;

test.skipIf(process.platform === 'win32')(
  'what the user may not do, no tool does; walkers tell what they left out',
  () => {
    const isRoot = process.getuid?.() === 0;
    const told = execFileSync(process.execPath, ['--import', 'tsx', fixture], {
      encoding: 'utf8',
      ...(isRoot ? { uid: nobody, gid: nobody } : {}),
    });

    expect(JSON.parse(told)).toEqual({
      write: '`kept.txt` cannot be written (EACCES).',
      edit: '`kept.txt` cannot be edited (EACCES).',
      create: '`full/new.txt` cannot be written (EACCES).',
      below: '`closed/b/new.txt` cannot be written (EACCES).',
      read: '`secret.txt` cannot be read (EACCES).',
      edit_secret: '`secret.txt` cannot be edited (EACCES).',
      read_below: '`closed/a.txt` cannot be read (EACCES).',
      list: './\n  closed/\n  full/\n  kept.txt\n  open.txt\n  secret.txt\n\n(1 directories could not be read)',
      list_closed: '`closed` cannot be read (EACCES).',
      grep: 'open.txt\n\n(2 files or directories could not be read)',
      grep_secret: 'No matches for `needle`.\n\n(1 files or directories could not be read)',
      glob: 'No files matched `**/a.txt`.\n\n(1 directories could not be read)',
      kept: 'kept',
    });
  },
);

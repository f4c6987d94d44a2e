import { expect, test } from 'vitest';
import { configDir, toShownPath } from '../../src/store/paths.ts';

// Source: mcp-host section 1, plugin-protocol section 12.
test.each([
  ['linux', { HOME: '/home/ada' }, '/home/ada/.config/vibe'],
  ['linux', { HOME: '/home/ada', XDG_CONFIG_HOME: '/cfg' }, '/cfg/vibe'],
  ['linux', { HOME: '/home/ada', XDG_CONFIG_HOME: 'relative' }, '/home/ada/.config/vibe'],
  ['linux', { HOME: '/home/ada', XDG_CONFIG_HOME: '/cfg', VIBE_CONFIG_HOME: '/own' }, '/own'],
  ['linux', { HOME: '/home/ada', VIBE_CONFIG_HOME: '' }, '/home/ada/.config/vibe'],
  ['linux', {}, undefined],
  ['linux', { HOME: '' }, undefined],
  ['darwin', { HOME: '/Users/ada', XDG_CONFIG_HOME: '/cfg' }, '/Users/ada/Library/Application Support/vibe'],
  ['win32', { APPDATA: 'C:\\Users\\ada\\AppData\\Roaming' }, 'C:\\Users\\ada\\AppData\\Roaming\\vibe'],
  ['win32', { HOME: '/home/ada' }, undefined],
] as const)('on %s with %j the user folder is %s', (platform, env, expected) => {
  expect(configDir(env, platform)).toBe(expected);
});

test('a path below the home folder is shown with a tilde, a look-alike is not', () => {
  const env = { HOME: '/home/ada' };

  expect(toShownPath('/home/ada/x', env)).toBe('~/x');
  expect(toShownPath('/home/ada', env)).toBe('~');
  expect(toShownPath('/home/adam/x', env)).toBe('/home/adam/x');
});

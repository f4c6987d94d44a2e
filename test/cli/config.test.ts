import { expect, test } from 'vitest';
import { configSchema, defaultConfig } from '../../src/config/schema.ts';
import { parseTomlText } from '../../src/config/toml-file.ts';
import { callCommandLine } from './in-process.ts';
import { useStage } from './stage.ts';

const stage = useStage();

const project = `model = "openai/gpt-5"
[providers.local]
kind = "openai"
api_key = "sk-canary-1"
extra = { headers = { "x-team" = "canary-2" }, reasoning = true }
[[plugins]]
name = "todo"
command = ["todo"]
env = { TOKEN = "canary-3" }
[rules]
deny = ["bash"]
`;

test('the configuration in effect is valid TOML and every value names its source', async () => {
  await stage.configure('[rules]\ndeny = ["write_file"]\n');
  await stage.write('.vibe/config.toml', project);
  await callCommandLine(['trust', '--yes'], stage);

  const { code, out } = await callCommandLine(['config', 'show'], stage);

  expect(code).toBe(0);
  const shown = parseTomlText(out, 'shown', configSchema);
  expect(shown.rules?.deny).toEqual(['write_file', 'bash']);
  expect(shown.model).toBe('openai/gpt-5');
  expect(out).toMatch(/^model = "openai\/gpt-5" {2}# .*project\/\.vibe\/config\.toml$/m);
  expect(out).toMatch(/^deny = .* {2}# .*user\/config\.toml \+ .*project\/\.vibe\/config\.toml$/m);
  expect(out).toMatch(/^command_timeout_secs = 120 {2}# default$/m);
});

test('keys, headers and variables are masked in both forms (PD8)', async () => {
  await stage.write('.vibe/config.toml', project);

  for (const args of [
    ['config', 'show'],
    ['config', 'show', '--json'],
  ]) {
    await callCommandLine(['trust', '--yes'], stage);
    const { out, err } = await callCommandLine(args, stage);
    expect(out + err).not.toContain('canary');
    expect(out).toContain('***');
  }
});

test('parts of an untrusted project are named and left out', async () => {
  await stage.write('.vibe/config.toml', project);

  const { out } = await callCommandLine(['config', 'show'], stage);
  const shown = parseTomlText(out, 'shown', configSchema);

  expect(out).toContain('# not trusted, ignored: plugin `todo` (`vibe-bus trust`)\n');
  expect(out).toContain('# not trusted, ignored: provider `local`');
  expect(shown.plugins).toBeUndefined();
  expect(Object.keys(shown.providers ?? {})).toEqual(['anthropic', 'openai', 'ollama']);
  expect(shown.model).toBe('openai/gpt-5');
});

test('the defaults are printed as a configuration file', async () => {
  const { code, out } = await callCommandLine(['config', 'show', '--default'], stage);

  expect(code).toBe(0);
  expect(parseTomlText(out, 'shown', configSchema)).toEqual(defaultConfig);
});

test('a broken file is one sentence with its place and the way out', async () => {
  await stage.write('.vibe/config.toml', '[security]\nallow_netwrok = true\n');

  const { code, out, err } = await callCommandLine(['config', 'show'], stage);

  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(
    /^error: .*config\.toml:2:1: unknown key `allow_netwrok` in `security`\n {2}Correct the file;.*\n$/,
  );
});

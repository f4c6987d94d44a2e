import type { HereDoc, HereString, Redirect, Redirection } from 'unbash';
import { refuseTarget } from './shell-paths.ts';
import { deny, type Arg, type Denial, type Scene, type ShellInput } from './shell-types.ts';
import { expandWord, wordTexts } from './shell-words.ts';

const readOnlyDevices = new Set(['/dev/stdin', '/dev/zero', '/dev/random', '/dev/urandom']);

/** Refuses a redirection whose target is not an exact path inside the workspace (rule 2, CP7). */
export function refuseRedirect(node: Redirection, scene: Scene): Denial | undefined {
  if (node.type !== 'Redirect' || node.target === undefined) return undefined;
  const { operator, target } = node;
  if (target.parts?.length === 1 && target.parts[0]?.type === 'ProcessSubstitution') return undefined;
  const readings = expandWord(target, scene.ledger);
  const arg = readings[0]?.[0];
  if (arg === undefined || readings.length !== 1 || readings[0]?.length !== 1) return refuseInexact(node, target.text);
  if (operator === '<&' || operator === '>&') {
    if (/^(?:\d-?|-)$/.test(arg.text) && !arg.isComputed) return undefined;
    if (operator === '<&') return refuseInexact(node, target.text);
  }
  return refuseNetworkDevice(arg, scene) ?? refusePath(node, arg, scene);
}

function refuseInexact(node: Redirect, text: string): Denial {
  return deny(
    'redirections',
    `The redirection \`${node.operator} ${text}\` has no exact target; name the file without variables, wildcards or \`~\`.`,
  );
}

function refuseNetworkDevice(arg: Arg, scene: Scene): Denial | undefined {
  if (scene.policy.network || !/^\/+dev\/+(?:tcp|udp)(?:\/|$)/.test(arg.text)) return undefined;
  return deny(
    'network',
    `\`${arg.text}\` opens a network connection, which is not allowed here; work with local files.`,
  );
}

function refusePath(node: Redirect, arg: Arg, scene: Scene): Denial | undefined {
  const isNetwork = /^\/dev\/(?:tcp|udp)\/[\w.:-]+\/\w+$/.test(arg.text) && !arg.isComputed;
  if (isNetwork) return undefined;
  const does = node.operator === '<' ? 'read' : 'write';
  if (does === 'read' && !arg.isComputed && readOnlyDevices.has(arg.text)) return undefined;
  return refuseTarget(arg, scene, { rule: 'redirections', by: node.operator, does, exact: true });
}

/** What the redirections make of the standard input; the last one that concerns it counts. */
export function inputOf(redirects: readonly Redirection[], scene: Scene): ShellInput {
  let { input } = scene;
  for (const node of redirects) {
    if (node.descriptor !== undefined && !(node.descriptor.type === 'FileDescriptor' && node.descriptor.value === 0))
      continue;
    if (node.type === 'HereDoc') input = { kind: 'text', text: textOf(node) };
    else if (node.type === 'HereString') input = { kind: 'text', text: hereStringText(node, scene) };
    else if (node.operator.startsWith('<')) input = { kind: 'file' };
  }
  return input;
}

function textOf(node: HereDoc): string | undefined {
  const { parts, text } = node.body;
  if (node.delimiter?.quoted === true || parts === undefined) return text;
  return parts.every((part) => part.type === 'Literal') ? parts.map((part) => part.value).join('') : undefined;
}

function hereStringText(node: HereString, scene: Scene): string | undefined {
  const texts = node.target === undefined ? undefined : wordTexts(node.target, scene.ledger);
  return texts?.map((value) => value.text).join('\n');
}

import { messageOf } from '../protocol/error.ts';
import type { BeforeToolCall } from '../protocol/hook.ts';
import { openArgument } from './rule-argument.ts';
import type { JudgedArgument } from './rule-judgement.ts';
import { parseRule, type RulePattern } from './rule-pattern.ts';

/** Patterns of tool calls such as `bash(npm test *)`, `write_file(docs/**)` or `mcp__github__*`. */
export interface RuleLists {
  /** Go ahead, also where the tool would ask. */
  readonly allow?: readonly string[] | undefined;
  /** Ask the approver first. */
  readonly ask?: readonly string[] | undefined;
  /** Never. */
  readonly deny?: readonly string[] | undefined;
}

/** Rules for all agents, and more of them by role. Deny wins, then ask, then allow, wherever a rule stands. */
export interface RuleSet extends RuleLists {
  readonly agents?: { readonly [role: string]: RuleLists } | undefined;
}

/** A rule set that was read. */
export interface Rules {
  /** The rules that hold for an agent. */
  for(role: string): RulesOfAgent;
}

export interface RulesOfAgent {
  readonly allow: readonly RulePattern[];
  readonly ask: readonly RulePattern[];
  readonly deny: readonly RulePattern[];
}

export type RuleVerdict =
  | { readonly kind: 'deny' | 'ask'; /** Names the rule. */ readonly reason: string }
  | { readonly kind: 'allow' | 'none' };

/** The rules of one run. */
export interface RunRules {
  /** Says what the rules make of a call. Never throws: a call that cannot be judged is denied. */
  judge(call: BeforeToolCall): RuleVerdict;
  /** Whether a rule that was added while the run went on (`always`) answers the question this call would ask. */
  isGranted(call: BeforeToolCall): boolean;
  /** Adds a rule that answers questions until the run ends; `deny` still wins. @throws EngineError `config` */
  grant(rule: string): void;
  /** The rule that means this call and no other. */
  exactRule(call: BeforeToolCall): string;
}

/** The name under which rules refuse calls, as a hook would. */
export const rulesHookName = 'rules';

/**
 * Reads a rule set.
 * @param where what holds it, for messages
 * @throws EngineError `config` naming a rule that cannot be read
 */
export function parseRules(set: RuleSet, where: string): Rules {
  const shared = parseLists(set, where);
  const byRole = new Map(
    Object.entries(set.agents ?? {}).map(([role, lists]) => [role, parseLists(lists, `${where} of agent \`${role}\``)]),
  );
  return {
    for(role) {
      const own = byRole.get(role);
      return own === undefined ? shared : joinRules([shared, own]);
    },
  };
}

/** All rules of both sets. */
export function joinRuleSets(first: RuleSet | undefined, second: RuleSet | undefined): RuleSet {
  const roles = new Set([...Object.keys(first?.agents ?? {}), ...Object.keys(second?.agents ?? {})]);
  const ofRole = (set: RuleSet | undefined, role: string): RuleLists =>
    set?.agents !== undefined && Object.hasOwn(set.agents, role) ? (set.agents[role] ?? {}) : {};
  return {
    ...joinRuleLists(first ?? {}, second ?? {}),
    agents: Object.fromEntries(
      [...roles].map((role) => [role, joinRuleLists(ofRole(first, role), ofRole(second, role))]),
    ),
  };
}

function joinRuleLists(first: RuleLists, second: RuleLists): RuleLists {
  return {
    allow: [...(first.allow ?? []), ...(second.allow ?? [])],
    ask: [...(first.ask ?? []), ...(second.ask ?? [])],
    deny: [...(first.deny ?? []), ...(second.deny ?? [])],
  };
}

/** The rules of a run, made of those of the configuration, the engine and the run. */
export function createRunRules(sources: readonly Rules[], role: string): RunRules {
  return new JoinedRules(joinRules(sources.map((source) => source.for(role))));
}

// why: a class, because every run has one
class JoinedRules implements RunRules {
  readonly #rules: RulesOfAgent;
  #granted: readonly RulePattern[] = noPatterns;

  constructor(rules: RulesOfAgent) {
    this.#rules = rules;
  }

  judge(call: BeforeToolCall): RuleVerdict {
    const { deny, ask, allow } = this.#rules;
    if (deny.length + ask.length + allow.length === 0) return none;
    try {
      return judgeBy(this.#rules, call);
    } catch (error) {
      // reliability G4: what is too big or too odd to evaluate is refused
      return { kind: 'deny', reason: `the rules cannot be applied to this call: ${messageOf(error)}` };
    }
  }

  isGranted(call: BeforeToolCall): boolean {
    const about = this.#granted.filter((rule) => rule.isAbout(call.tool));
    return (
      about.length > 0 &&
      isCovered(
        about,
        lazily(() => openArgument(call)),
      )
    );
  }

  grant(rule: string): void {
    this.#granted = [...this.#granted, parseRule(rule)];
  }

  exactRule(call: BeforeToolCall): string {
    return `${call.tool}(${openArgument(call).exact})`;
  }
}

function judgeBy({ deny, ask, allow }: RulesOfAgent, call: BeforeToolCall): RuleVerdict {
  const about = (rules: readonly RulePattern[]): readonly RulePattern[] =>
    rules.filter((rule) => rule.isAbout(call.tool));
  const denying = about(deny);
  const asking = about(ask);
  const allowing = about(allow);
  if (denying.length + asking.length + allowing.length === 0) return none;
  const argument = lazily(() => openArgument(call));
  const denied = denying.find((rule) => isMeant(rule, argument));
  if (denied !== undefined) return { kind: 'deny', reason: describe(denied, argument, 'denied by') };
  const asked = asking.find((rule) => isMeant(rule, argument));
  if (asked !== undefined) return { kind: 'ask', reason: describe(asked, argument, 'asked for by') };
  return isCovered(allowing, argument) ? { kind: 'allow' } : none;
}

const noPatterns: readonly RulePattern[] = [];
const noRules: RulesOfAgent = { allow: noPatterns, ask: noPatterns, deny: noPatterns };
const none: RuleVerdict = { kind: 'none' };

function parseLists(lists: RuleLists, where: string): RulesOfAgent {
  const parse = (name: keyof RuleLists): readonly RulePattern[] =>
    (lists[name] ?? []).map((text) => parseRule(text, `${where}, list \`${name}\``));
  return { allow: parse('allow'), ask: parse('ask'), deny: parse('deny') };
}

function joinRules(lists: readonly RulesOfAgent[]): RulesOfAgent {
  // why: most runs have none, or those of one source
  const some = lists.filter(({ allow, ask, deny }) => allow.length + ask.length + deny.length > 0);
  if (some.length < 2) return some[0] ?? noRules;
  return {
    allow: lists.flatMap((list) => list.allow),
    ask: lists.flatMap((list) => list.ask),
    deny: lists.flatMap((list) => list.deny),
  };
}

function isMeant(rule: RulePattern, argument: () => JudgedArgument): boolean {
  return rule.argument === undefined || argument().mayBe(rule.argument);
}

function isCovered(rules: readonly RulePattern[], argument: () => JudgedArgument): boolean {
  if (rules.some((rule) => rule.argument === undefined)) return true;
  const patterns = rules.flatMap((rule) => rule.argument ?? []);
  return patterns.length > 0 && argument().isCoveredBy(patterns);
}

function describe(rule: RulePattern, argument: () => JudgedArgument, verb: string): string {
  const problem = rule.argument === undefined ? undefined : argument().problem;
  if (problem === undefined) return `${verb} the rule \`${rule.text}\``;
  return `the rule \`${rule.text}\` cannot be applied to it: ${problem.replace(/\.$/, '')}`;
}

/** Judging a command line or looking up a path costs; most calls concern no rule with an argument. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

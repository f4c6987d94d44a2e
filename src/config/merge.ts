import type { Config, RulesConfig } from './schema.ts';

/**
 * Puts one layer of configuration over another, table by table: inside a table a key of `over` replaces that of `base`, the
 * rest of `base` stays. Some lists are joined instead, so that a project can add to what its user forbids but never take
 * away from it: `security.blocked_commands`, `rules.ask`, `rules.deny` and these two of each agent. Plugins are joined by
 * name, `over` wins.
 */
export function mergeConfig(base: Config, over: Config): Config {
  const security = mergeTable(base.security, over.security);
  return withoutAbsent({
    model: over.model ?? base.model,
    phases: mergeTables(base.phases, over.phases),
    providers: mergeTables(base.providers, over.providers),
    security:
      security &&
      withoutAbsent({
        ...security,
        blocked_commands: joinLists(base.security?.blocked_commands, over.security?.blocked_commands),
      }),
    rules: mergeRules(base.rules, over.rules),
    budget: mergeTable(base.budget, over.budget),
    prices: mergeTables(base.prices, over.prices),
    limits: mergeTable(base.limits, over.limits),
    plugins: mergePlugins(base.plugins, over.plugins),
  });
}

/** The dotted names of the lists that layers add to, besides those of agents. */
const joinedLists: ReadonlySet<string> = new Set(['security.blocked_commands', 'rules.ask', 'rules.deny']);

export function isJoinedList(name: string): boolean {
  return joinedLists.has(name) || /^rules\.agents\..*\.(?:ask|deny)$/s.test(name);
}

function mergeRules(base: RulesConfig | undefined, over: RulesConfig | undefined): Config['rules'] {
  if (base === undefined || over === undefined) return over ?? base;
  const { agents: baseAgents, ...baseLists } = base;
  const { agents: overAgents, ...overLists } = over;
  const roles = [...new Set([...Object.keys(baseAgents ?? {}), ...Object.keys(overAgents ?? {})])];
  const agents = roles.map((role) => [role, mergeRuleLists(own(baseAgents, role), own(overAgents, role))] as const);
  return withoutAbsent({
    ...mergeRuleLists(baseLists, overLists),
    agents: roles.length === 0 ? undefined : Object.fromEntries(agents),
  });
}

type RuleLists = Omit<RulesConfig, 'agents'>;

function mergeRuleLists(base: RuleLists, over: RuleLists): RuleLists {
  return withoutAbsent({
    ...mergeTable(base, over),
    ask: joinLists(base.ask, over.ask),
    deny: joinLists(base.deny, over.deny),
  });
}

function own(agents: RulesConfig['agents'], role: string): RuleLists {
  return agents !== undefined && Object.hasOwn(agents, role) ? (agents[role] ?? {}) : {};
}

function mergeTable<T extends object>(base: T | undefined, over: T | undefined): T | undefined {
  if (base === undefined || over === undefined) return over ?? base;
  return { ...base, ...withoutAbsent(over) };
}

/** Tables of tables: names are outside text, so they are kept as own properties whatever they spell. */
function mergeTables<T extends object>(
  base: { readonly [name: string]: T } | undefined,
  over: { readonly [name: string]: T } | undefined,
): { [name: string]: T } | undefined {
  if (base === undefined && over === undefined) return undefined;
  const merged = new Map(Object.entries(base ?? {}));
  for (const [name, table] of Object.entries(over ?? {}))
    merged.set(name, mergeTable(merged.get(name), table) ?? table);
  return Object.fromEntries(merged);
}

function joinLists(base: string[] | undefined, over: string[] | undefined): string[] | undefined {
  return base === undefined && over === undefined ? undefined : [...new Set([...(base ?? []), ...(over ?? [])])];
}

function mergePlugins(base: Config['plugins'], over: Config['plugins']): Config['plugins'] {
  if (base === undefined || over === undefined) return over ?? base;
  const names = new Set(over.map((plugin) => plugin.name));
  return [...base.filter((plugin) => !names.has(plugin.name)), ...over];
}

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Absent and undefined mean the same to a reader but not to a spread. */
function withoutAbsent<T extends object>(table: T): Present<T> {
  const entries = Object.entries(table).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<T>;
}

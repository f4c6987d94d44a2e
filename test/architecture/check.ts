import { findCycle, loadedBy, type ImportEdge, type SourceModule } from './modules.ts';
import {
  defaultExports,
  exceptions,
  forbiddenInToolThread,
  type Layer,
  layers,
  lazyPackages,
  maxCodeLines,
  reExports,
  reserved,
  restricted,
  threadEntries,
  threadTools,
} from './table.ts';

/** Everything in which a tree of modules differs from the rules, one sentence each; empty when it follows them. */
export function findViolations(modules: readonly SourceModule[], dependencies: ReadonlySet<string>): string[] {
  const byFile = new Map(modules.map((module) => [module.file, module]));
  return [
    ...modules.flatMap((module) => [
      ...checkFolder(module),
      ...checkImports(module, byFile),
      ...checkPackages(module, dependencies),
      ...checkShape(module),
    ]),
    ...checkCycles(byFile),
    ...checkThreads(byFile),
    ...checkLazy(byFile),
  ];
}

function checkFolder(module: SourceModule): string[] {
  return layerOf(module.file) === undefined ? [`${module.file}: no row of the import table covers it`] : [];
}

function checkImports(module: SourceModule, byFile: ReadonlyMap<string, SourceModule>): string[] {
  const layer = layerOf(module.file);
  return module.imports
    .filter((edge) => edge.isRelative)
    .flatMap((edge) => {
      const at = `${module.file}:${edge.line}`;
      if (!byFile.has(edge.target)) return [`${at}: imports ${edge.target}, which is no module of the source folder`];
      if (layer === undefined || mayImport(module, layer, edge)) return [];
      return [`${at}: imports ${edge.target}, which its row of the import table does not allow`];
    });
}

function mayImport(module: SourceModule, layer: Layer, edge: ImportEdge): boolean {
  const isOwn = Object.hasOwn(layers, module.file) === false && isIn(edge.target, module.folder);
  if ((isOwn && module.folder !== '') || layer.imports.some((place) => place === '*' || isIn(edge.target, place))) {
    return true;
  }
  if (edge.isTypeOnly && layer.typesOf?.some((place) => isIn(edge.target, place)) === true) return true;
  return isExcepted(module.file, edge.target);
}

function checkPackages(module: SourceModule, dependencies: ReadonlySet<string>): string[] {
  const packages = module.imports.filter((edge) => !edge.isRelative).map((edge) => edge.target);
  const unknown = packages.filter((name) => !name.startsWith('node:') && !dependencies.has(packageName(name)));
  const names = new Set([...packages, ...module.uses]);
  const wrongPlace = reserved.flatMap((rule) =>
    [...names]
      .filter((name) => rule.names.some((pattern) => matches(name, pattern)))
      .filter((name) => !rule.places.some((place) => isIn(module.file, place)) && !isExcepted(module.file, name))
      .map((name) => `${module.file}: uses ${name}, which is reserved to ${rule.places.join(', ')}`),
  );
  const refused = restricted
    .filter((rule) => isIn(module.file, rule.place) && !rule.except.includes(module.file))
    .flatMap((rule) => rule.names.filter((name) => names.has(name) && !isExcepted(module.file, name)))
    .map((name) => `${module.file}: uses ${name}, which ${module.folder} must not`);
  return [
    ...unknown.map((name) => `${module.file}: imports ${name}, which package.json does not list`),
    ...wrongPlace,
    ...refused,
  ];
}

function checkShape(module: SourceModule): string[] {
  const found: string[] = [];
  if (module.codeLines > maxCodeLines) found.push(`${module.file}: has ${module.codeLines} code lines`);
  if (module.hasDefaultExport && !defaultExports.includes(module.file)) {
    found.push(`${module.file}: has a default export`);
  }
  if (module.file !== 'index.ts' && module.file.endsWith('/index.ts')) {
    found.push(`${module.file}: an index.ts inside a folder hides where things are defined`);
  }
  if (!reExports.includes(module.file)) {
    for (const edge of module.imports) {
      if (edge.isReExport && !isExcepted(module.file, edge.target)) {
        found.push(`${module.file}:${edge.line}: re-exports ${edge.target}`);
      }
    }
  }
  return found;
}

function checkCycles(byFile: ReadonlyMap<string, SourceModule>): string[] {
  const cycle = findCycle(byFile);
  return cycle === undefined ? [] : [`import cycle: ${cycle.join(' -> ')}`];
}

function checkThreads(byFile: ReadonlyMap<string, SourceModule>): string[] {
  const found: string[] = [];
  for (const entry of [...threadEntries, ...threadTools]) {
    if (!byFile.has(entry)) continue;
    const loaded = loadedBy(entry, byFile);
    for (const file of loaded) {
      if (byFile.get(file)?.hasTopLevelAwait === true) found.push(`${entry}: loads ${file}, which has top-level await`);
      const isTool = entry !== 'workers/run-worker.ts';
      if (
        isTool &&
        forbiddenInToolThread.some((name) => file === name || (name.endsWith('/') && file.startsWith(name)))
      ) {
        found.push(`${entry}: loads ${file}, which a tool thread must not`);
      }
    }
  }
  return found;
}

function checkLazy(byFile: ReadonlyMap<string, SourceModule>): string[] {
  if (!byFile.has('index.ts')) return [];
  return [...loadedBy('index.ts', byFile)]
    .filter((name) => lazyPackages.some((pattern) => matches(name, pattern)))
    .map((name) => `index.ts: loads ${name} at import; it must be loaded at its first use`);
}

/** The row of the table for a file: its own, else its folder's. */
function layerOf(file: string): Layer | undefined {
  if (Object.hasOwn(layers, file)) return layers[file];
  const folder = file.includes('/') ? file.split('/')[0] : undefined;
  return folder !== undefined && Object.hasOwn(layers, folder) ? layers[folder] : undefined;
}

function isIn(file: string, place: string): boolean {
  return file === place || (place !== '' && !place.endsWith('.ts') && file.startsWith(`${place}/`));
}

function matches(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function isExcepted(file: string, name: string): boolean {
  return exceptions.some((exception) => exception.file === file && exception.allows === name);
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

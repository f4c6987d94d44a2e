import { type FSWatcher, watch } from 'node:fs';
import path from 'node:path';

/** How long a file must be left alone before a change counts, in milliseconds (mcp-host 3.4). */
const quietMs = 500;

/**
 * Tells once per burst that one of the files changed. The folders are watched, since a file written in one step is a new
 * file each time; a folder that does not exist is not watched. Does not keep the process alive.
 */
export function watchFiles(files: readonly string[], onChange: () => void): Disposable {
  const names = new Map<string, Set<string>>();
  for (const file of files) {
    const folder = path.dirname(file);
    names.set(folder, (names.get(folder) ?? new Set()).add(path.basename(file)));
  }
  let timer: NodeJS.Timeout | undefined;
  const watchers = [...names].flatMap(([folder, wanted]) => openWatcher(folder, wanted, changed));

  function changed(): void {
    clearTimeout(timer);
    timer = setTimeout(onChange, quietMs);
    timer.unref();
  }

  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

function openWatcher(folder: string, wanted: ReadonlySet<string>, changed: () => void): readonly FSWatcher[] {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      // why: not every system tells the name
      if (name === null || wanted.has(name)) changed();
    });
    // why: a folder that goes away ends its watching; the files are read again when asked for
    watcher.on('error', () => watcher.close());
    return [watcher];
  } catch {
    return []; // no such folder, or no watches left: changes are seen at the next start or `reload`
  }
}

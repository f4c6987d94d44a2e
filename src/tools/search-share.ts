/** Keeps a walk to its share of a tree. Paths are relative to where the walk began. */
export interface ShareGate {
  /** What the walk met and did not look at, because it had seen enough. */
  readonly left: readonly string[];
  takesFile(path: string): boolean;
  entersDirectory(path: string): boolean;
}

/** A walk that begins a search: it takes all until it has seen enough, and notes what is left. */
export function createFirstGate(hasSeenEnough: () => boolean): ShareGate {
  const left: string[] = [];
  const takes = (path: string): boolean => {
    const isLeft = hasSeenEnough();
    if (isLeft) left.push(path);
    return !isLeft;
  };
  return { left, takesFile: takes, entersDirectory: takes };
}

/** A walk that goes on with some of what was left: files, and directories with all that is below them. */
export function createShareGate(own: readonly string[]): ShareGate {
  const paths = new Set(own);
  const above = new Set(own.flatMap((path) => [...path.matchAll(/\//g)].map((slash) => path.slice(0, slash.index))));
  /** The directory of the share that is being looked at; the walk leaves it before it comes to the next. */
  let front: string | undefined;
  const isBelowOwn = (path: string): boolean => front !== undefined && path.startsWith(front);
  return {
    left: [],
    takesFile: (path) => isBelowOwn(path) || paths.has(path),
    entersDirectory(path) {
      if (paths.has(path)) front = `${path}/`;
      return isBelowOwn(`${path}/`) || above.has(path);
    },
  };
}

/** Deals what is left. Directories near the top hold most and are dealt first, so that everyone gets as many of them. */
export function dealShares(left: readonly string[], count: number): readonly (readonly string[])[] {
  const ordered = left.toSorted((one, other) => levelOf(one) - levelOf(other));
  return Array.from({ length: count }, (_, index) => ordered.filter((_path, place) => place % count === index));
}

function levelOf(path: string): number {
  return path.split('/').length;
}

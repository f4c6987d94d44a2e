// What the load of the pool runs on its threads; plain JavaScript, so that a thread needs no loader for it.

/** Keeps its thread busy and tells how long it really took, in milliseconds. */
export function busy({ ms }) {
  const startedAt = performance.now();
  while (performance.now() - startedAt < ms);
  return performance.now() - startedAt;
}

/** Ends its thread. */
export function dies() {
  process.exit(9);
}

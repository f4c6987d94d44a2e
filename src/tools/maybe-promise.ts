/** A value that may have to be waited for; most have not, and waiting costs a turn of the queue. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value, now if it is there. */
export function andThen<T, R>(value: MaybePromise<T>, goOn: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/** The calls of a step all begin before the first of them ends, also those that take no time. */
export function soon<T>(work: () => MaybePromise<T>): Promise<T> {
  return Promise.resolve().then(work);
}

export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

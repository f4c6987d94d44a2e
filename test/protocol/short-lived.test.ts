import { expect, test } from 'vitest';
import { ForgetfulMap } from '../../src/protocol/forgetful-map.ts';
import { OpenList } from '../../src/protocol/open-list.ts';
import { oldKiB, toYoungCollector } from '../heap.ts';

test('an open list holds each once, whatever order they leave in', () => {
  const list = new OpenList<Item>();
  const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ place: -1, name })) as [Item, Item, Item];
  const names = (): readonly string[] => list.values().map(({ name }) => name);
  for (const item of [a, b, c, b]) list.add(item);
  expect(names()).toEqual(['a', 'b', 'c']);

  list.remove(a);
  list.remove(a);
  expect([names(), a.place, c.place]).toEqual([['c', 'b'], -1, 0]);

  list.remove(b);
  list.remove(c);
  list.add(a);
  expect([names(), list.size]).toEqual([['a'], 1]);
});

interface Item {
  place: number;
  readonly name: string;
}

test('a forgetful map keeps the order of arrival and forgets what left', () => {
  const map = new ForgetfulMap<string, { readonly of: string }>();
  for (const key of ['a', 'b', 'c']) map.set(key, { of: key });
  const seen = map.values();

  map.set('a', { of: 'a, again' });
  map.delete('b');
  map.delete('b');

  expect(map.values().map(({ of }) => of)).toEqual(['a, again', 'c']);
  expect([map.size, map.has('b'), map.get('b'), map.get('c')?.of]).toEqual([2, false, undefined, 'c']);
  expect(seen).toHaveLength(3);
});

const large = 2_000;

const lists: readonly { readonly what: string; readonly open: () => (count: number) => void }[] = [
  {
    what: 'an open list',
    open() {
      const list = new OpenList<{ place: number }>();
      return (count) => {
        const items = Array.from({ length: count }, () => ({
          place: -1,
          held: Array.from({ length: large }, () => ({})),
        }));
        for (const item of items) list.add(item);
        for (const item of items) list.remove(item);
      };
    },
  },
  {
    what: 'a forgetful map',
    open() {
      const map = new ForgetfulMap<number, object>();
      let last = 0;
      return (count) => {
        const first = last + 1;
        for (; last < first + count - 1; last += 1)
          map.set(
            last + 1,
            Array.from({ length: large }, () => ({})),
          );
        for (let key = first; key <= last; key += 1) map.delete(key);
      };
    },
  },
];

test.each(lists)('what left $what is freed without a full collection', ({ open }) => {
  const collectYoung = toYoungCollector();
  const comeAndGo = open();
  const rounds = 40;
  for (let round = 0; round < rounds; round += 1) {
    comeAndGo(5);
    collectYoung();
  }
  const before = oldKiB();
  for (let round = 0; round < rounds; round += 1) {
    comeAndGo(5);
    collectYoung();
  }

  // those of one round are some 300 KiB, of which a map keeps most
  expect((oldKiB() - before) / rounds).toBeLessThan(30);
});

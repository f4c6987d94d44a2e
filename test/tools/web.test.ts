import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { EngineError } from '../../src/protocol/error.ts';
import { toPlainText } from '../../src/tools/html-text.ts';
import { isPublicAddress } from '../../src/transport/public-address.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const answers: Record<string, Answer> = {
  '/page': (_, response) =>
    response
      .setHeader('content-type', 'text/html; charset=utf-8')
      .end('<title>T</title><p>Hello <b>you</b>&amp;me</p>'),
  '/zipped': (_, response) =>
    response.setHeader('content-type', 'text/plain').setHeader('content-encoding', 'gzip').end(gzipSync('unzipped')),
  '/latin': (_, response) => response.setHeader('content-type', 'text/plain; charset=latin1').end(Buffer.from([0xe9])),
  '/cut': (_, response) => response.setHeader('content-type', 'text/plain').end(Buffer.from([0x61, 0xe2, 0x82])),
  '/image': (_, response) => response.setHeader('content-type', 'image/png').end('x'),
  '/gone': (_, response) => response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here'),
  '/away': (_, response) => response.writeHead(302, { location: 'http://127.0.0.2:1/x' }).end(),
  '/file': (_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/loop': (_, response) => response.writeHead(302, { location: '/loop' }).end(),
  '/hop': (_, response) => response.writeHead(302, { location: '/page' }).end(),
  '/hop1': (_, response) => response.writeHead(307, { location: '/hop2' }).end(),
  '/hop2': (_, response) => response.writeHead(308, { location: 'hop3' }).end(),
  '/hop3': (_, response) => response.writeHead(301, { location: './hop4' }).end(),
  '/hop4': (_, response) => response.writeHead(303, { location: '/hop' }).end(),
  '/hop0': (_, response) => response.writeHead(302, { location: '/hop1' }).end(),
  '/nowhere': (_, response) => response.writeHead(302, { 'content-type': 'text/plain' }).end('no way'),
  '/login': (_, response) => response.writeHead(302, { location: 'http://me:secret@127.0.0.1/' }).end(),
  // These never end on their own.
  '/endless-redirect': (_, response) => response.writeHead(302, { location: '/page' }).write('x'),
  '/endless': (_, response) => response.setHeader('content-type', 'text/plain').write('begun'),
  '/endless-zipped': (_, response) => {
    response.setHeader('content-type', 'text/plain').setHeader('content-encoding', 'gzip');
    response.write(gzipSync('begun').subarray(0, 12));
  },
  '/strange': (_, response) => response.setHeader('content-encoding', 'vibes').write('x'.repeat(100_000)),
  '/silent': () => {},
  '/broken': (_, response) => {
    response.setHeader('content-type', 'text/plain').setHeader('content-length', '100').write('begun');
    setImmediate(() => response.destroy());
  },
  '/utf16': (_, response) => response.setHeader('content-type', 'text/plain').end(Buffer.from('\ufeffwide', 'utf16le')),
  '/declared': (_, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(Buffer.from('<head><meta charset="windows-1251"></head>\xcf\xf0\xe8', 'latin1')),
  '/declared-old': (_, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(Buffer.from('<meta http-equiv=x content="text/html; charset=iso-8859-15">\xa4', 'latin1')),
  '/header-wins': (_, response) =>
    response.setHeader('content-type', 'text/html;charset=UTF-8').end('<meta charset="latin1">é'),
  '/unknown-charset': (_, response) => response.setHeader('content-type', 'text/plain; charset=klingon').end('é'),
  '/invalid': (_, response) => response.setHeader('content-type', 'text/plain').end(Buffer.from([0x61, 0xff, 0x62])),
  '/untyped-page': (_, response) => response.end('<!DOCTYPE html><p>a</p>'),
  '/untyped': (_, response) => response.end('a < b'),
  '/binary': (_, response) => response.setHeader('content-type', 'text/plain').end(Buffer.from([0x61, 0, 0x62])),
  '/empty': (_, response) => response.setHeader('content-type', 'text/plain').end(),
  '/json': (_, response) => response.setHeader('content-type', 'application/ld+json').end('{"a": 1}'),
  '/bomb': (_, response) =>
    response
      .setHeader('content-type', 'text/plain')
      .setHeader('content-encoding', 'gzip')
      .end(gzipSync(Buffer.alloc(50 * 1_024 * 1_024, 'x'))),
  '/limit': (_, response) => response.setHeader('content-type', 'text/plain').end('😀'.repeat(30_000)),
  '/over': (_, response) => response.setHeader('content-type', 'text/plain').end('😀'.repeat(30_001)),
  '/2mib': (_, response) =>
    response.setHeader('content-type', 'text/html').end(`<p>a</p>`.padEnd(2 * 1_024 * 1_024, ' ')),
  '/2mib1': (_, response) =>
    response.setHeader('content-type', 'text/html').end(`<p>a</p>`.padEnd(2 * 1_024 * 1_024 + 1, ' ')),
  '/huge': (_, response) => response.setHeader('content-type', 'text/plain').end('x'.repeat(3 * 1_024 * 1_024)),
};

describe('web_fetch', () => {
  let origin: string;
  let asked: string | undefined;
  let workspace: Workspace;
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    if (answer === undefined) {
      asked = request.url;
      const results = Array.from({ length: 12 }, (_, index) => ({
        title: `R${index}`,
        url: `https://x/${index}`,
        content: ' c ',
      }));
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ results: [{ title: 'no address' }, ...results] }));
    } else answer(request, response);
  });

  beforeAll(async () => {
    workspace = createWorkspace();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.close();
    workspace[Symbol.dispose]();
  });

  const fetchPage = (
    url: string,
    web: object = { isAllowedAddress: (address: string) => address === '127.0.0.1' },
    signal: AbortSignal = new AbortController().signal,
  ) => workspace.call('web_fetch', { url }, { permissions: { network: true }, builtin: { web }, signal });

  test.each([
    ['/page', 'T\n\nHello you&me'],
    ['/hop', 'T\n\nHello you&me'],
    ['/zipped', 'unzipped'],
    ['/latin', 'é'],
    ['/hop1', 'T\n\nHello you&me'],
    ['/endless-redirect', 'T\n\nHello you&me'],
    ['/utf16', 'wide'],
    ['/declared', 'При'],
    ['/declared-old', '€'],
    ['/header-wins', 'é'],
    ['/unknown-charset', 'é'],
    ['/invalid', 'a\ufffdb'],
    ['/untyped-page', 'a'],
    ['/untyped', 'a < b'],
    ['/json', '{"a": 1}'],
    ['/empty', '(the page has no text)'],
    ['/limit', '😀'.repeat(30_000)],
    ['/over', `${'😀'.repeat(30_000)}\n\n(cut at 30000 characters)`],
    ['/bomb', `${'x'.repeat(30_000)}\n\n(cut at 30000 characters)`],
    ['/2mib', 'a'],
    ['/2mib1', 'a\n\n(cut at 1 characters)'],
  ])('%s is shown as text', async (path, content) => {
    expect(await fetchPage(origin + path)).toMatchObject({ content, is_error: false });
  });

  test.each([
    ['/cut', /ended inside a character\.$/],
    ['/image', /is of type `image\/png`, not text\.$/],
    ['/gone', /^HTTP 404 Not Found\n\nnothing here$/],
    ['/away', /^Access denied: host `127\.0\.0\.2` is not on the public internet\.$/],
    ['/file', /only http and https can be fetched\.$/],
    ['/loop', /more than 5 redirects\.$/],
    ['/hop0', /more than 5 redirects\.$/],
    ['/nowhere', /^HTTP 302 Found\n\nno way$/],
    ['/login', /a URL with user information is not fetched\.$/],
    ['/binary', /is binary and cannot be shown as text\.$/],
    ['/broken', /cannot be fetched: aborted\.$/],
    ['/strange', /cannot be fetched: the answer has the unknown encoding `vibes`\.$/],
  ])('%s is an error result', async (path, content) => {
    expect(await fetchPage(origin + path)).toMatchObject({ content: expect.stringMatching(content), is_error: true });
  });

  test('an answer that is not read to its end leaves no connection', async () => {
    for (const path of ['/strange', '/huge', '/endless-redirect']) await fetchPage(origin + path);

    while ((await connectionsOf(server)) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test.each(['/silent', '/endless', '/endless-zipped'])('%s is given up after 30 seconds', async (path) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const arrived = once(server, 'request');
      const fetching = fetchPage(origin + path);
      let isOver = false;
      void fetching.then(() => (isOver = true));
      await arrived;
      vi.advanceTimersByTime(29_999);
      await new Promise((resolve) => setImmediate(resolve));
      expect(isOver).toBe(false);

      vi.advanceTimersByTime(1);

      expect(await fetching).toEqual({
        content: `\`${origin}${path}\` did not answer within 30 seconds.`,
        is_error: true,
      });
    } finally {
      vi.useRealTimers();
    }
  });

  test.each(['/silent', '/endless', '/endless-zipped'])('%s is let go when the call is cancelled', async (path) => {
    const cancel = new AbortController();
    const arrived = once(server, 'request');
    const fetching = fetchPage(origin + path, undefined, cancel.signal);
    await arrived;
    await new Promise((resolve) => setImmediate(resolve));

    cancel.abort(new EngineError('cancelled', 'enough'));

    await expect(fetching).rejects.toThrow('enough');
    while ((await connectionsOf(server)) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test('a long page is cut', async () => {
    const output = await fetchPage(`${origin}/huge`);

    expect(output.content).toBe(`${'x'.repeat(30_000)}\n\n(cut at 30000 characters)`);
    expect(output.metadata).toMatchObject({ bytes: 2 * 1_024 * 1_024, truncated: true });
  });

  test.each([
    ['http://localhost/', /^Access denied: host `localhost` is not on the public internet\.$/],
    ['http://[::1]/', /^Access denied: /],
    ['http://169.254.169.254/latest/meta-data', /^Access denied: /],
    ['http://2130706433/', /^Access denied: /],
    ['http://0x7f000001/', /^Access denied: /],
    ['http://0177.0.0.1/', /^Access denied: /],
    ['http://127.1/', /^Access denied: /],
    ['http://127.0.0.1./', /^Access denied: /],
    ['http://①②⑦.0.0.1/', /^Access denied: /],
    ['http://0/', /^Access denied: /],
    ['http://[::ffff:127.0.0.1]/', /^Access denied: /],
    ['http://[64:ff9b::10.0.0.1]/', /^Access denied: /],
    ['http://[fe80::1%25eth0]/', /no valid URL/],
    ['http://1.2.3.256/', /no valid URL/],
    ['//example.com/', /no valid URL/],
    ['file:///etc/passwd', /only http and https/],
    ['http://token@example.com/', /user information/],
    ['ftp://example.com/', /only http and https/],
    ['http://user:pass@example.com/', /user information/],
    ['http://exa\nmple.com/', /control characters/],
    ['no url', /no valid URL/],
  ])('CP9: %j is not fetched', async (url, content) => {
    expect(await fetchPage(url, {})).toMatchObject({ is_error: true, content: expect.stringMatching(content) });
  });

  test.each([
    ['https://evil-example.com/', false],
    ['https://example.com.evil.org/', false],
    ['https://docs.example.com/', true],
  ])('CP9: with a list of domains %s is judged by whole labels', async (url, isListed) => {
    const output = await fetchPage(url, { allowedDomains: ['Example.com'], isAllowedAddress: () => false });

    expect(output.content.includes('not among the allowed domains')).toBe(!isListed);
  });

  test('CP9: the list of domains is asked again at each redirect', async () => {
    const named = origin.replace('127.0.0.1', 'localhost');
    const web = { allowedDomains: ['localhost'], isAllowedAddress: (address: string) => address.startsWith('127.') };

    expect((await fetchPage(`${named}/hop`, web)).content).toBe('T\n\nHello you&me');
    expect((await fetchPage(`${named}/away`, web)).content).toBe(
      'Access denied: host `127.0.0.2` is not among the allowed domains.',
    );
  });

  test('CP9: a name is connected to only at an address that was judged, also after a redirect', async () => {
    const judged: string[] = [];
    let accepted = 0;
    server.on('connection', () => (accepted += 1));
    const named = origin.replace('127.0.0.1', 'localhost');
    const judge = (isAllowed: boolean) => (address: string) => {
      judged.push(address);
      return isAllowed && address === '127.0.0.1';
    };

    const refused = await fetchPage(`${named}/page`, { isAllowedAddress: judge(false) });
    const before = accepted;
    const shown = await fetchPage(`${named}/hop`, { isAllowedAddress: judge(true) });

    expect(refused.content).toBe('Access denied: host `localhost` is not on the public internet.');
    expect(before).toBe(0);
    expect(shown).toMatchObject({ content: 'T\n\nHello you&me' });
    expect(judged.filter((address) => address === '127.0.0.1')).toHaveLength(3);
  });

  test('needs the permission', async () => {
    expect((await workspace.call('web_fetch', { url: origin })).content).toBe(
      'Permission denied: this agent is not allowed to reach the network.',
    );
  });

  test('web_search shows the first ten results of the endpoint and is absent without one', async () => {
    const options = {
      permissions: { network: true },
      builtin: { searchEndpoint: `${origin}/search?q={query}&format=json` },
    };

    const output = await workspace.call('web_search', { query: 'a & b' }, options);

    expect(output.content.split('\n\n')).toHaveLength(10);
    expect(output.content.startsWith('1. R0\n   https://x/0\n   c\n\n2. R1')).toBe(true);
    expect(asked).toBe('/search?q=a%20%26%20b&format=json');
    await expect(workspace.call('web_search', { query: 'x' })).rejects.toThrow('no tool');
  });
});

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

test.each([
  ['1.1.1.1', true],
  ['10.0.0.1', false],
  ['127.0.0.1', false],
  ['100.64.0.1', false],
  ['172.16.0.1', false],
  ['192.168.1.1', false],
  ['224.0.0.1', false],
  ['0.0.0.0', false],
  ['2606:4700::1111', true],
  ['::1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:1.1.1.1', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['fe80::1', false],
  ['fd00::1', false],
  ['fe80::1%eth0', false],
  ['2606:4700::1111%eth0', false],
  ['::', false],
  ['2001::1', false],
  ['2001:db8::1', false],
  ['3fff::1', false],
  ['ff02::1', false],
  ['192.0.0.8', false],
  ['192.88.99.1', false],
  ['198.18.0.1', false],
  ['255.255.255.255', false],
  ['0177.0.0.1', false],
  ['172.15.255.255', true],
  ['172.32.0.0', true],
  ['not an address', false],
])('whether %s is public: %s', (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});

test.each([
  ['<h1>A</h1><p>b<br>c', '# A\n\nb\nc'],
  ['<ul><li>one<li>two</ul>', '- one\n- two'],
  ['<script>if (a < b) {}</script>x<style>y</style>', 'x'],
  ['a &lt; b &#x20ac; &#233; &unknown; &amp;lt;', 'a < b € é &unknown; &lt;'],
  ['1 < 2 and <b>3', '1 < 2 and 3'],
  ['<pre>a\n  b</pre>c', 'a\n  b\n\nc'],
  ['<table><tr><td>1<td>2<tr><td>3</table>', '1 | 2\n3'],
  ['<a title="x>y" href=z>link</a><!-- > -->', 'link'],
  ['<p', ''],
  ['&#0; &#xd800; &#x110000;', '\ufffd \ufffd \ufffd'],
])('%j reads as %j', (html, text) => {
  expect(toPlainText(html)).toBe(text);
});

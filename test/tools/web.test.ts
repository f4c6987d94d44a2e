import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
  '/huge': (_, response) => response.setHeader('content-type', 'text/plain').end('x'.repeat(3 * 1_024 * 1_024)),
};

describe('web_fetch', () => {
  let origin: string;
  let workspace: Workspace;
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    if (answer === undefined) {
      const results = Array.from({ length: 12 }, (_, index) => ({
        title: `R${index}`,
        url: `https://x/${index}`,
        content: ' c ',
      }));
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ results, query: request.url }));
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

  const fetchPage = (url: string, web: object = { isAllowedAddress: (address: string) => address === '127.0.0.1' }) =>
    workspace.call('web_fetch', { url }, { permissions: { network: true }, builtin: { web } });

  test.each([
    ['/page', 'T\n\nHello you&me'],
    ['/hop', 'T\n\nHello you&me'],
    ['/zipped', 'unzipped'],
    ['/latin', 'é'],
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
  ])('%s is an error result', async (path, content) => {
    expect(await fetchPage(origin + path)).toMatchObject({ content: expect.stringMatching(content), is_error: true });
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
    await expect(workspace.call('web_search', { query: 'x' })).rejects.toThrow('no tool');
  });
});

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

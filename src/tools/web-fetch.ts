import { EngineError, isEngineError } from '../protocol/error.ts';
import { countCharacters, firstCharacters } from '../protocol/json.ts';
import { childSignal } from '../protocol/signal.ts';
import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { denied } from './containment.ts';
import { toPlainText } from './html-text.ts';
import { isPublicAddress } from '../transport/public-address.ts';
import { decodeBody } from './web-body.ts';
import { requestWeb, type WebResponse } from './web-request.ts';

export interface WebSettings {
  /** Hosts that may be fetched, each with all below it. Default: any. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** Which addresses may be connected to. Default: those of the public internet. */
  readonly isAllowedAddress?: ((address: string) => boolean) | undefined;
}

/** Limits of agent-runtime 16. */
const maxRedirects = 5;
const maxBytes = 2 * 1_024 * 1_024;
const maxCharacters = 30_000;
const timeoutMs = 30_000;

/** The text of a web page (agent-runtime 16). */
export async function fetchPage(url: string, context: ToolContext, settings: WebSettings): Promise<ToolOutput> {
  using limit = childSignal(context.signal, timeoutMs);
  try {
    const { response, finalUrl } = await follow(url, limit.signal, settings);
    return describe(response, finalUrl);
  } catch (error) {
    if (context.signal.aborted) throw error;
    if (limit.timedOut) return errorOutput(`\`${url}\` did not answer within 30 seconds.`);
    if (!isEngineError(error)) throw error;
    if (error.kind === 'denied') return denied(error.message);
    return errorOutput(`\`${url}\` cannot be fetched: ${error.message}.`);
  }
}

async function follow(
  start: string,
  signal: AbortSignal,
  settings: WebSettings,
): Promise<{ response: WebResponse; finalUrl: URL }> {
  let url = parseWebUrl(start, settings);
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const response = await requestWeb({
      url,
      accept: 'text/html, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5',
      maxBytes,
      signal,
      isAllowedAddress: settings.isAllowedAddress ?? isPublicAddress,
    });
    if (response.location === undefined) return { response, finalUrl: url };
    url = parseWebUrl(response.location, settings, url);
  }
  throw new EngineError('network', `more than ${maxRedirects} redirects`);
}

/**
 * Reads a URL and judges its host (reliability CP9).
 * @throws EngineError `invalid_request` for what is no web address, `denied` for a host that is not allowed
 */
function parseWebUrl(text: string, settings: WebSettings, base?: URL): URL {
  // eslint-disable-next-line no-control-regex -- exactly these must not reach the parser, which drops some silently
  if (/[\u0000-\u001f\u007f]/.test(text)) throw new EngineError('invalid_request', 'the URL holds control characters');
  if (!URL.canParse(text, base?.href)) throw new EngineError('invalid_request', 'it is no valid URL');
  const url = new URL(text, base?.href);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new EngineError('invalid_request', 'only http and https can be fetched');
  }
  if (url.username !== '' || url.password !== '') {
    throw new EngineError('invalid_request', 'a URL with user information is not fetched');
  }
  const host = url.hostname.toLowerCase().replace(/\.$/, '');
  const isAllowed = (domain: string): boolean => host === domain || host.endsWith(`.${domain}`);
  if (
    settings.allowedDomains !== undefined &&
    !settings.allowedDomains.some((domain) => isAllowed(domain.toLowerCase()))
  ) {
    throw new EngineError('denied', `host \`${url.hostname}\` is not among the allowed domains`);
  }
  return url;
}

function describe(response: WebResponse, url: URL): ToolOutput {
  const { status, statusText, contentType, isCut } = response;
  const metadata = { url: url.href, status, content_type: contentType, bytes: response.body.length };
  if (!isText(contentType)) return errorOutput(`\`${url.href}\` is of type \`${contentType}\`, not text.`, metadata);
  const decoded = decodeBody(response);
  if (!decoded.ok) {
    const problem = decoded.reason === 'cut' ? 'ended inside a character' : 'is binary and cannot be shown as text';
    return errorOutput(`The answer of \`${url.href}\` ${problem}.`, metadata);
  }
  const { text } = decoded;
  const readable = isHtml(contentType, text) ? toPlainText(text) : text.trim();
  const total = countCharacters(readable);
  const shown = firstCharacters(readable, maxCharacters);
  const truncated = isCut || total > maxCharacters;
  const note = truncated ? `\n\n(cut at ${countCharacters(shown)} characters)` : '';
  const content = `${shown === '' ? '(the page has no text)' : shown}${note}`;
  if (status >= 200 && status < 300) return okOutput(content, { ...metadata, truncated });
  return errorOutput(`HTTP ${status} ${statusText}`.trimEnd() + `\n\n${content}`, { ...metadata, truncated });
}

function isText(contentType: string): boolean {
  return contentType === '' || /^text\/|[/+](?:json|xml|xhtml\+xml|javascript|x-ndjson|yaml|toml)$/.test(contentType);
}

function isHtml(contentType: string, text: string): boolean {
  if (contentType === '') return /^\s*<(?:!doctype html|html)/i.test(text);
  return contentType === 'text/html' || contentType === 'application/xhtml+xml';
}

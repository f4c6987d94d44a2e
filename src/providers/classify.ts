import { EngineError, type ErrorKind } from '../protocol/error.ts';
import { firstCharacters, isJsonObject, toWellFormed } from '../protocol/json.ts';
import { scrubSecrets } from './scrub.ts';

export interface HttpFailure {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs?: number | undefined;
  /** Texts that must not appear in the message: the provider's key. */
  readonly secrets?: readonly string[];
}

const quotaTexts = [
  'billing',
  'credit balance',
  'insufficient credit',
  'out of credits',
  'insufficient_quota',
  'insufficient quota',
  'payment required',
];
const rateTexts = ['rate limit', 'rate_limit', 'ratelimit', 'too many requests'];
const lengthTexts = [
  'context length',
  'context_length',
  'too long',
  'maximum context',
  'context window',
  'too many tokens',
];
/** Longest detail in a message, in characters. */
const maxDetail = 500;

/** An HTTP error answer as an `EngineError`; `data` holds `{status, quota}`. Source: agent-runtime section 15, "Classification". */
export function classifyHttpFailure(failure: HttpFailure): EngineError {
  const { status, body, retryAfterMs, secrets } = failure;
  const detail = toDetail(body, secrets);
  return new EngineError(
    kindOfStatus(status, body.toLowerCase()),
    detail === '' ? `HTTP ${status}` : `HTTP ${status}: ${detail}`,
    {
      data: { status, quota: isQuotaText(body.toLowerCase()) },
      ...(status === 529 ? { code: 'overloaded' } : {}),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
  );
}

/** The kind of an HTTP status with a lower-cased body; the first matching row of the contract's table decides. */
export function kindOfStatus(status: number, body: string): ErrorKind {
  const says = (texts: readonly string[]): boolean => texts.some((text) => body.includes(text));
  if (status === 402 || isQuotaText(body)) return 'invalid_request';
  if (status === 429 || says(rateTexts)) return 'rate_limited';
  if (status === 401 || status === 403) return 'auth_failed';
  if ((status === 400 || status === 413) && says(lengthTexts)) return 'context_too_long';
  if (status === 408) return 'network';
  if (status >= 400 && status < 500) return 'invalid_request';
  return status >= 500 ? 'server_error' : 'other';
}

/** Whether a lower-cased text tells of a used-up account: no repetition in any form helps. */
export function isQuotaText(body: string): boolean {
  return quotaTexts.some((text) => body.includes(text));
}

function toDetail(body: string, secrets: readonly string[] | undefined): string {
  const text = toWellFormed(scrubSecrets(messageIn(body) ?? body.trim(), secrets));
  const cut = firstCharacters(text, maxDetail);
  return cut.length < text.length ? `${cut}…` : cut;
}

function messageIn(body: string): string | undefined {
  let data: unknown;
  try {
    data = JSON.parse(body);
  } catch {
    // not JSON: the body itself is the detail
    return undefined;
  }
  return errorTextOf(data);
}

/** The first text among `error.message`, `error`, `message` and `detail`. */
function errorTextOf(data: unknown): string | undefined {
  if (!isJsonObject(data)) return undefined;
  const { error, message, detail } = data;
  const nested = isJsonObject(error) ? error['message'] : undefined;
  return [nested, error, message, detail].find((text): text is string => typeof text === 'string');
}

import { GraphException } from './errors.js';
import { isHtml, isReadOnly, what } from './failures.js';
import type { HttpReply, HttpRequest } from './http.js';
import { refusal } from './refusal.js';

export type Fields = Readonly<Record<string, unknown>>;

/** A JSON answer of either server. */
export interface Envelope {
  readonly refused: boolean;
  readonly code: string;
  readonly message: string;
  readonly fields: Fields;
}

/** The answer as JSON object with the keys both servers use; undefined when it is anything else. */
export function readEnvelope(reply: HttpReply): Envelope | undefined {
  const fields = parseLenient(reply.body);
  if (!isRecord(fields)) return undefined;
  const { error, code, message } = fields;
  // Servers write the flag as boolean, as text, or leave it empty.
  const saysNo = error === true || error === 'true';
  if (!saysNo && error !== undefined && error !== false && error !== 'false' && error !== '')
    return undefined;
  return {
    refused: saysNo || reply.status >= 400,
    code: typeof code === 'string' ? code : '',
    message: typeof message === 'string' ? message : '',
    fields,
  };
}

/** The fields of a success; throws the refusal, or BAD_RESPONSE for what is no answer of these servers. */
export function expectFields(request: HttpRequest, reply: HttpReply): Fields {
  const envelope = readEnvelope(reply);
  if (envelope === undefined) throw notAnEnvelope(request, reply);
  const { code, message } = envelope;
  if (envelope.refused) throw refusal(request, { status: reply.status, code, message });
  return envelope.fields;
}

export function notAnEnvelope(request: HttpRequest, reply: HttpReply): GraphException {
  // 401 and 403 are clear without a body; other texts are a proxy's or another program's.
  if (reply.status === 401 || reply.status === 403) {
    return refusal(request, { status: reply.status, code: '', message: isHtml(reply) ? '' : reply.body });
  }
  return badResponse(
    request,
    reply,
    isHtml(reply) ? 'a web page came back' : 'the answer is not what was agreed',
  );
}

export function badResponse(request: HttpRequest, reply: HttpReply, problem: string): GraphException {
  return new GraphException('BAD_RESPONSE', `${what(request)}: ${problem} (HTTP ${reply.status}).`, {
    hint: 'Check the addresses and --server-version; graphcred doctor looks at both servers.',
    status: reply.status,
    ambiguous: reply.status < 400 && !isReadOnly(request),
  });
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The servers put raw line breaks into JSON strings, so control characters count as blanks. */
function parseLenient(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return JSON.parse(text.replace(/\p{Cc}/gu, ' '));
    } catch {
      return undefined;
    }
  }
}

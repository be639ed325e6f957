import fs from 'node:fs';
import path from 'node:path';
import type { GraphConnection } from '../../core/connection.js';
import { GraphException } from '../../core/errors.js';
import type { RawReply } from '../../core/options.js';
import type { Sensitive } from '../../core/sensitive.js';
import type { Call } from '../call.js';
import { connect } from '../connect.js';
import { refuseUntrusted } from '../credential.js';
import { connectLogin } from '../login.js';
import { speltOut } from '../printable.js';
import { openSession, type Session } from '../session.js';
import { chooseStore } from '../stores.js';
import { tokenSource } from '../token.js';
import { tokenFromVariable } from '../token-variable.js';

/** Codes with which a server turns a token away that has ended or that it does not know. */
const WORN_OUT = new Set(['REST-10016', 'REST-10019']);
const MOST_FROM_STDIN = 1_000_000;

/** `graphcred api` */
export async function run(call: Call): Promise<undefined> {
  const { args, flags } = call;
  const session = await openSession(call);
  const [route = ''] = args;
  const body = await bodyOf(call);
  const method = (flags.method as string | undefined) ?? (body === undefined ? 'GET' : 'POST');
  const ask = (connection: GraphConnection, server: 'rest' | 'service') =>
    connection[server](method, route, { body, keepRefusal: true });
  // What is never sent is refused before a token is minted for it.
  const { checkRawCall } = await import('../../core/raw.js');
  checkRawCall('rest', session.target.gsqlUrl, method, route, {});
  const reply = flags.service === true ? await atService(session, ask) : await atRest(session, ask);
  print(call, reply);
}

type Ask = (connection: GraphConnection, server: 'rest' | 'service') => Promise<RawReply>;

async function atService(session: Session, ask: Ask): Promise<RawReply> {
  const { store } = await chooseStore(session);
  const { connection } = await connectLogin(session, store);
  return ask(connection, 'service');
}

async function atRest(session: Session, ask: Ask): Promise<RawReply> {
  const given = tokenFromVariable(session);
  if (given) {
    await refuseUntrusted(session, { literal: false });
    const { store } = await chooseStore(session);
    return askWith(session, given, store.name !== 'none', ask);
  }
  const source = await tokenSource(session);
  const held = await source.obtain();
  const reply = await askWith(session, held.token, source.keeps, ask);
  if (held.source !== 'store' || !isWornOut(reply)) return reply;
  // The server turned the call away at the door, so nothing has happened yet and it may be sent again.
  session.call.report.detail('the server no longer takes the held token; it is forgotten here');
  await source.forget(held.token);
  return askWith(session, (await source.obtain()).token, source.keeps, ask);
}

function isWornOut({ refusal }: RawReply): boolean {
  return refusal?.code === 'AUTH_FAILED' && WORN_OUT.has(refusal.serverCode ?? '');
}

async function askWith(session: Session, token: Sensitive, keeps: boolean, ask: Ask): Promise<RawReply> {
  const { connection } = await connect(session, undefined, keeps);
  connection.apiToken = token;
  return ask(connection, 'rest');
}

/** What goes to the server: the words typed, a file's content, or stdin. */
async function bodyOf({ ctx, flags }: Call): Promise<string | undefined> {
  const data = flags.data as string | undefined;
  if (data === '-') {
    const text = await ctx.stdin.read();
    if (Buffer.byteLength(text) <= MOST_FROM_STDIN) return text;
    throw new GraphException('USAGE', 'There is more than 1 MB on stdin.', {
      hint: 'write it to a file: -d @FILE',
    });
  }
  if (!data?.startsWith('@')) return data;
  const file = path.resolve(ctx.cwd, data.slice(1));
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(file));
  } catch {
    throw new GraphException('USAGE', `${file} cannot be read as text (UTF-8).`, {
      hint: 'check the path and the mode of the file',
    });
  }
}

/** The body as it came. A refusal in it is an error all the same: servers say no with status 200 as well. */
function print({ ctx, report, flags }: Call, { status, headers, body, refusal }: RawReply): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  // A pipe gets what the server sent.
  const shown = (text: string) => (ctx.stdout.isTTY ? speltOut(text.replace(/\r\n/g, '\n')) : text);
  if (flags.include === true) ctx.stdout.write(shown(`HTTP/1.1 ${status}\n${lines.join('')}\n`));
  if (body !== '') report.result(shown(body));
  if (refusal) throw refusal;
  if (status < 400 && !saysNo(body)) return;
  const hint = 'the answer is on stdout';
  if (status === 404)
    throw new GraphException('NOT_FOUND', 'There is no such thing here (HTTP 404).', { hint });
  throw new GraphException('SERVER_ERROR', `The server refused the call (HTTP ${status}).`, { hint, status });
}

function saysNo(body: string): boolean {
  // Refusals are short, and large answers need not be parsed to look for one.
  if (body.length > 16_384) return false;
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return error === true || error === 'true';
  } catch {
    return false;
  }
}

import { GraphException } from './errors.js';
import type { Session } from './protocol.js';
import { Sensitive } from './sensitive.js';

/** `Authorization: Basic`, or undefined when there is no password. */
export function basicLogin(session: Session): Sensitive | undefined {
  const { username, password } = session;
  if (password === undefined) return undefined;
  if (username === undefined) {
    throw new GraphException('USAGE', 'A password was given, but no user name.', {
      hint: 'Give it with --username (username).',
    });
  }
  if (username.includes(':')) {
    throw new GraphException('USAGE', 'A user name cannot hold a colon.', {
      hint: 'Check --username (username).',
    });
  }
  const login = Buffer.from(`${username}:${password.reveal()}`, 'utf8').toString('base64');
  return new Sensitive(`Basic ${login}`);
}

export function noLogin(needed: string): GraphException {
  return new GraphException('USAGE', `This needs ${needed}.`, {
    hint: 'Give --username and GRAPHCRED_PASSWORD, --password-stdin or --password-file.',
  });
}

/** `scheme value` for an Authorization header. Throws USAGE when the value cannot stand in one. */
export function headerLogin(scheme: 'Bearer' | 'GSQL-Secret', credential: Sensitive): Sensitive {
  const value = credential.reveal();
  if (!/^[\x21-\x7e]+$/.test(value)) {
    const name = scheme === 'Bearer' ? 'token' : 'secret';
    throw new GraphException('USAGE', `This ${name} holds blanks or letters that no ${name} has.`, {
      hint: 'Check where it comes from: graphcred config show',
    });
  }
  return new Sensitive(`${scheme} ${value}`);
}

/** Credentials to cut out of what the server says. A password that is also the user name hides nothing. */
export function hidden(session: Session, ...more: (Sensitive | undefined)[]): (Sensitive | undefined)[] {
  const { username, password, secret } = session;
  return [...more, secret, password?.reveal() === username ? undefined : password, session.token()];
}

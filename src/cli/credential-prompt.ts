import { GraphException } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';
import type { Credential, CredentialSource, Purpose } from '../credentials/resolve.js';
import { mayAsk } from './may-ask.js';
import { askHidden, askText } from './prompt.js';
import type { Session } from './session.js';

/**
 * The last resort: a person, if there is one. Asked when the value is needed, not before.
 * @param excluded what a config file brings, but for another host
 * @throws GraphException INPUT_REQUIRED, HOST_MISMATCH
 */
export async function promptedCredential(
  session: Session,
  purpose: Purpose,
  excluded: CredentialSource | undefined,
): Promise<Credential> {
  const { settings, call, target } = session;
  const ask = () => mayAsk(call.ctx, settings);
  if (excluded && !ask()) throw mismatch(session, excluded);
  const missing = (what: string, ways: string) =>
    new GraphException(
      'INPUT_REQUIRED',
      `${what} is needed for ${target.gsqlUrl}, and there is no terminal to ask.`,
      { hint: ways },
    );
  const secretToo =
    purpose === 'mint' ? '; or a secret: --secret-stdin, --secret-file, GRAPHCRED_SECRET' : '';
  const notToken = call.ctx.env.TG_API_TOKEN ? '; the token in TG_API_TOKEN is no login here' : '';
  let username = session.username;
  if (username === undefined) {
    if (!ask()) throw missing('A user name', `give --username or GRAPHCRED_USERNAME${secretToo}${notToken}`);
    if (excluded)
      call.report.note(`the credential in ${placeOf(session, excluded)} is for another host and is not used`);
    username = await askText(call, `User name at ${target.host}`);
  }
  let answer: Promise<Sensitive> | undefined;
  const value = async () => {
    const ways = `give --password-stdin, --password-file or GRAPHCRED_PASSWORD${secretToo}${notToken}`;
    if (!ask()) throw missing('A password', ways);
    answer ??= askHidden(call, `Password of ${username} at ${target.host}`);
    return answer;
  };
  return {
    kind: 'password',
    label: 'prompt',
    level: 'prompt',
    literal: false,
    username,
    principal: `user:${username}`,
    value,
  };
}

function mismatch(session: Session, excluded: CredentialSource): GraphException {
  return new GraphException(
    'HOST_MISMATCH',
    `The credential in ${placeOf(session, excluded)} is for another host and is not sent to ${session.target.gsqlUrl}.`,
    { hint: 'give the credential for this host: --password-stdin, --secret-stdin or GRAPHCRED_SECRET' },
  );
}

function placeOf({ settings }: Session, { level, label }: CredentialSource): string {
  return level === 'field' ? label : `${settings.file?.path}`;
}

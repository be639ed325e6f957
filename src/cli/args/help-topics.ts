import type { Help } from 'commander';
import { SETTINGS } from '../../config/keys.js';
import { EXITS } from '../output/exit-codes.js';
import { LISTING, optionText } from './options.js';

type Topic = Readonly<{ title: string; intro: string; head: string[]; rows: readonly (readonly string[])[] }>;

/** Help topics. docs/reference.md is made from them. */
export const TOPICS: Readonly<Record<string, Topic>> = {
  settings: {
    title: 'Settings',
    intro:
      'Options that commands share. They may stand before or after the command. Most have a variable too: graphcred help environment.',
    head: ['option', 'meaning'],
    rows: LISTING.map((one) => [one.flags, optionText(one)]),
  },
  'exit-codes': {
    title: 'Exit codes',
    intro: 'With -o json an error is one object on stderr; error.code is one of these names.',
    head: ['exit', 'codes', 'meaning', 'retry'],
    rows: EXITS.map(({ status, codes, meaning, retry }) => [`${status}`, codes.join(', '), meaning, retry]),
  },
  environment: {
    title: 'Environment variables',
    intro:
      'Highest priority first: flag, GRAPHCRED_*, TG_* (ignored when --profile is typed), profile, config file, default.',
    head: ['setting', 'flag', 'variables', 'default'],
    rows: [
      ['profile', '--profile', 'GRAPHCRED_PROFILE', 'default'],
      ['config file', '--config', 'GRAPHCRED_CONFIG', 'the nearest file here or above, else your own'],
      ...Object.entries(SETTINGS).map(([key, { flag, variable, tgVariable, default: preset }]) => [
        key,
        flag ? `--${flag}` : '',
        [variable, tgVariable].filter(Boolean).join(', '),
        preset ?? '',
      ]),
      ['key of the file and redis stores', '', 'GRAPHCRED_STORE_KEY, GRAPHCRED_STORE_KEY_FILE', 'generated'],
      ["provider's client secret", '', 'GRAPHCRED_OIDC_CLIENT_SECRET', 'oidc.clientSecretFile'],
      ['password of Redis', '', 'GRAPHCRED_REDIS_PASSWORD', 'redis.passwordFile'],
      ['token for the commands api and token check', '', 'TG_API_TOKEN', 'the cached token'],
      ['port of both servers, in the cloud', '', 'TG_TGCLOUD, TG_SSL_PORT', '443'],
      ['ask nothing; store nothing unless a store is set or was saved by login', '', 'CI', ''],
      ['no colours', '--no-color', 'NO_COLOR, CLICOLOR=0', ''],
      ['colours in a pipe too', '', 'FORCE_COLOR', ''],
      ['proxies', '', 'HTTP_PROXY, HTTPS_PROXY, NO_PROXY', ''],
    ],
  },
  formatting: {
    title: 'Output formats',
    intro:
      'stdout is the result and nothing else; notes, warnings and questions go to stderr. All commands support text and json; token get and token refresh support the others too.',
    head: ['format', 'shape'],
    rows: [
      ['text', 'for people; token get prints the bare token'],
      ['json', 'one document with "schemaVersion": 1; times as ...At (RFC 3339, UTC) and ...AtUnix'],
      ['env', "export TG_API_TOKEN='...'; --shell fish, powershell or cmd for those"],
      ['header', 'Authorization: Bearer ...'],
      ['dotenv', 'TG_API_TOKEN=..., bare, for docker --env-file'],
      ['github', 'masks the token in the log; token and expires-at in $GITHUB_OUTPUT; --export: $GITHUB_ENV'],
      ['gitlab', 'a private dotenv file, named by --dotenv'],
      ['k8s-secret', 'token get only: a Kubernetes Secret, named by --name, for kubectl apply -f -'],
    ],
  },
};

export function topicText(name: string, helper: Help): string {
  const { title, intro, head, rows } = TOPICS[name] as Topic;
  const width = Math.min(26, Math.max(...rows.map(([first = '']) => first.length)));
  const items = rows.map(([first = '', ...cells]) => {
    const told = cells.map((cell, at) => (cell && at === 2 ? `${head[3]}: ${cell}` : cell));
    return helper.formatItem(first, width, told.filter(Boolean).join('; '), helper);
  });
  return `${[title, helper.boxWrap(intro, helper.helpWidth ?? 80), items.join('\n')].join('\n\n')}\n`;
}

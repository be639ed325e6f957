import { SETTINGS } from '../../config/keys.js';
import { EXITS } from '../output/exit-codes.js';
import { wrapped } from '../output/report.js';
import { table } from '../output/table.js';
import { HEADINGS, OUTPUT, optionText } from './options.js';

const FORMATS = [
  ['text', 'all commands', 'for people; token get prints the bare token'],
  [
    'json',
    'all commands',
    'one document with "schemaVersion": 1; times as ...At (RFC 3339, UTC) and ...AtUnix',
  ],
  ['env', 'token get, refresh', "export TG_API_TOKEN='...'; --shell fish, powershell or cmd for those"],
  ['header', 'token get, refresh', 'Authorization: Bearer ...'],
  ['dotenv', 'token get, refresh', 'TG_API_TOKEN=..., bare, for docker --env-file'],
  [
    'github',
    'token get, refresh',
    'a mask first, then token and expires-at in $GITHUB_OUTPUT; --export: also $GITHUB_ENV',
  ],
  ['gitlab', 'token get, refresh', 'a private dotenv file, named by --dotenv'],
  ['k8s-secret', 'token get', 'a Kubernetes Secret, named by --name, for kubectl apply -f -'],
] as const;

/** Variables that are no settings, as rows of the topic `environment`. */
const OTHER_VARIABLES = [
  ['key of the stores file and redis', '', 'GRAPHCRED_STORE_KEY, GRAPHCRED_STORE_KEY_FILE', 'generated'],
  ["secret of the identity provider's client", '', 'GRAPHCRED_OIDC_CLIENT_SECRET', 'oidc.clientSecretFile'],
  ['password of the Redis server', '', 'GRAPHCRED_REDIS_PASSWORD', 'redis.passwordFile'],
  ['token for api and token check', '', 'TG_API_TOKEN', 'the cached one'],
  ['both ports, for a TG_HOST in the cloud', '', 'TG_TGCLOUD, TG_SSL_PORT', '443'],
  ['ask nothing; store nothing if no store is set or recorded', '', 'CI', ''],
  ['no colours', '--no-color', 'NO_COLOR, CLICOLOR=0', ''],
  ['colours although stdout is no terminal', '', 'FORCE_COLOR', ''],
  ['proxies', '', 'HTTP_PROXY, HTTPS_PROXY, NO_PROXY', ''],
] as const;

interface Topic {
  readonly title: string;
  readonly intro: string;
  readonly head: readonly string[];
  readonly rows: () => readonly (readonly string[])[];
  /** The columns that are wrapped on a narrow terminal; if that is not enough, the first of them is left out. */
  readonly long: readonly number[];
}

/** Help topics. docs/reference.md is made from them. */
export const TOPICS: Readonly<Record<string, Topic>> = {
  settings: {
    title: 'Settings',
    intro:
      'Options that commands share. They may stand before or after the command. Most have a variable too: graphcred help environment.',
    head: ['option', 'meaning'],
    long: [1, 0],
    rows: () =>
      [...HEADINGS.flatMap(([, options]) => options), OUTPUT].map((one) => [one.flags, optionText(one)]),
  },
  'exit-codes': {
    title: 'Exit codes',
    intro: 'With -o json an error is one object on stderr; error.code is one of these names.',
    head: ['exit', 'codes', 'meaning', 'retry'],
    long: [1, 2],
    rows: () =>
      EXITS.map(({ status, codes, meaning, retry }) => [String(status), codes.join(', '), meaning, retry]),
  },
  environment: {
    title: 'Environment variables',
    intro:
      'Highest priority first: flag, GRAPHCRED_*, TG_* (ignored when --profile is typed), profile, config file, default.',
    head: ['setting', 'flag', 'variables', 'default'],
    long: [1, 3, 0, 2],
    rows: () => [
      ['profile', '--profile', 'GRAPHCRED_PROFILE', 'default'],
      ['config file', '--config', 'GRAPHCRED_CONFIG', 'the nearest file in this folder or its parents'],
      ...Object.entries(SETTINGS).map(([key, { flag, variable, tgVariable, default: preset }]) => [
        key,
        flag ? `--${flag}` : '',
        [variable, tgVariable].filter(Boolean).join(', '),
        preset ?? '',
      ]),
      ...OTHER_VARIABLES,
    ],
  },
  formatting: {
    title: 'Output formats',
    intro: 'stdout is the result and nothing else; notes, warnings and questions go to stderr.',
    head: ['format', 'for', 'shape'],
    long: [1, 2],
    rows: () => FORMATS,
  },
};

/** A wider line is hard to read. */
const WIDEST = 100;

/** Formats a topic for the terminal or a pipe. */
export function topicText(name: string, columns = WIDEST): string {
  const width = Math.min(columns, WIDEST);
  const { title, intro, head, rows, long } = TOPICS[name] as Topic;
  const upper = head.map((cell) => cell.toUpperCase());
  const text = table(upper, rows(), { width, shrinkOrder: long, wrap: true });
  return `${title}\n\n${wrapped(intro, width).join('\n')}\n\n${text}\n`;
}

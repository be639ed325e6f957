// Makes docs/reference.md from the tables of the program: options and variables in one table, then the other help topics.

/** The keys of a config file that no option sets. */
const WITHOUT_OPTION = {
  password: 'the password; better one of the next two',
  passwordCommand: 'program that prints the password: a list of words, no shell',
  secret: 'the secret; better one of the next two',
  secretCommand: 'program that prints the secret: a list of words, no shell',
  jwt: "an identity provider's JWT; better one of the next two",
  jwtCommand: 'program that prints it: a list of words, no shell; cached until it ends',
  'oidc.issuer': 'URL of the identity provider; login writes it',
  'oidc.clientId': 'the client ID of graphcred at the provider',
  'oidc.scopes': 'what to ask for, separated by spaces (openid offline_access)',
  'oidc.audience': 'whom an access token is to be for',
  'oidc.use': 'the token that the database takes: id_token (default), or access_token (default for jobs)',
  'oidc.grant': 'client_credentials for a job, which gets tokens in its own name',
  'oidc.clientSecretFile': "file with the client's secret",
  'oidc.clientAssertion': 'github, or a file with a JWT that stands for the client',
  'oidc.port': 'loopback port that the browser comes back to, where the provider must know it (any)',
  'redis.url': 'server of the store redis: rediss://HOST:PORT/DB',
  'redis.username': 'its user name',
  'redis.passwordFile': 'file with its password',
  'redis.ca': 'trust certificates issued by this CA (PEM file)',
  'redis.sentinelMaster': 'name that its sentinels know',
};

const optionsOf = ({ HEADINGS, OUTPUT, LIFETIME, MIN_TTL }) => [
  ...HEADINGS.flatMap(([, group]) => group),
  OUTPUT,
  LIFETIME,
  MIN_TTL,
];

/** Returns what a key of a config file means: the text of its option, where it has one. */
export function meaningOf(key, flag, tables) {
  const text = optionsOf(tables).find(({ name }) => name === flag)?.help ?? WITHOUT_OPTION[key];
  if (text === undefined) throw new Error(`scripts/reference-page.mjs has no words for the setting ${key}.`);
  return text;
}

/** Returns the text of docs/reference.md. */
export function referencePage(tables) {
  const { settings, environment, ...others } = tables.TOPICS;
  return `${[
    '# Reference',
    `## ${settings.title}\n\n${settings.intro}\n\n${environment.intro}`,
    settingsTable(environment, tables),
    ...Object.values(others).map(
      ({ title, intro, head, rows }) => `## ${title}\n\n${intro}\n\n${table(head, rows)}`,
    ),
  ].join('\n\n')}\n`;
}

function settingsTable({ head, rows }, tables) {
  const left = new Map(
    optionsOf(tables).map((option) => [`--${option.name}`, [option.flags, tables.optionText(option)]]),
  );
  const settings = rows.map(([setting, flag, ...cells]) => {
    const [option = flag, meaning = WITHOUT_OPTION[setting] ?? ''] = left.get(flag) ?? [];
    left.delete(flag);
    return [setting, code(option), meaning, ...cells];
  });
  const options = [...left.values()].map(([option, meaning]) => ['', code(option), meaning, '', '']);
  return table([head[0], 'option', 'meaning', ...head.slice(2)], [...settings, ...options]);
}

/** Without this, <name> is an HTML element. */
const code = (text) => (text === '' ? '' : `\`${text}\``);

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

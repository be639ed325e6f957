// Makes the manual page, in roff, from the tables that help is made from.

/** Escapes a text so that roff prints it unchanged, in one line. */
const plain = (text) =>
  text
    .replace(/\\/g, '\\(rs')
    .replace(/-/g, '\\-')
    .replace(/'/g, '\\(aq')
    .replace(/"/g, '\\(dq')
    .replace(/`/g, '\\(ga')
    .replace(/\^/g, '\\(ha')
    .replace(/~/g, '\\(ti');

/** Prevents roff from hyphenating the names of variables, codes, options and files. */
const whole = (word) => (/[A-Z]{4}|_|\/|\\-\\-/.test(word) ? `\\%${word}` : word);

/** Escapes a dot at the beginning of a line, which roff would read as a request. */
const safe = (line) => line.replace(/^\./, '\\&.');

const code = (text) => safe(plain(text));
const bold = (text) => `\\fB${plain(text)}\\fR`;
const italic = (text) => `\\fI${plain(text)}\\fR`;

/** Writes each sentence on lines of its own, none longer than a terminal is wide. */
function prose(text) {
  const lines = [];
  for (const sentence of text.split(/(?<=[.:;?!]) (?=[A-Z])/)) {
    let line = '';
    for (const word of plain(sentence).split(' ').map(whole)) {
      if (line !== '' && line.length + word.length > 76) {
        lines.push(safe(line));
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    lines.push(safe(line));
  }
  return lines.join('\n');
}

const entry = (tag, text) => `.TP\n${safe(tag)}\n${prose(text)}`;
const examples = (lines) => ['.PP', '.RS 4', '.EX', ...lines.map(code), '.EE', '.RE'].join('\n');

function option({ name, short, value, choices, help }) {
  const tag = `${short ? `${bold(`-${short}`)}, ` : ''}${bold(`--${name}`)}${value ? ` ${italic(value)}` : ''}`;
  return entry(tag, choices ? `${help}; one of ${choices.join(', ')}` : help);
}

function command(spec, shared) {
  const [, bracket, name, dots] = /^([<[])(\w+)(\.{3})?/.exec(spec.argument ?? '') ?? [];
  const word = name && italic(name) + (dots ? ' ...' : '');
  const args = name ? [bracket === '<' ? word : `[${word}]`] : [];
  const own = spec.options.filter((one) => !shared.includes(one));
  return [
    `.SS ${spec.path}`,
    [bold(`graphcred ${spec.path}`), '[options]', ...(spec.passThrough ? ['\\-\\-'] : []), ...args].join(' '),
    '.PP',
    prose(`${spec.summary[0].toUpperCase()}${spec.summary.slice(1)}.`),
    ...(spec.notes ? [prose(spec.notes)] : []),
    examples(spec.examples),
    ...own.map(option),
  ].join('\n');
}

const FIRST = [
  ['An imitation of the database, to try things on in its shell:', 'graphcred sandbox -- sh'],
  ['Say where your database is and who you are, and keep a secret for later:', 'graphcred login'],
  [
    'A token for a script; minted once, found again until it ends:',
    'graphcred token get -o header | curl -H @- https://graph.example.com/restpp/echo',
  ],
  [
    'A token for one program alone, gone when it ends:',
    'graphcred exec --revoke --lifetime 15m -- python3 load.py',
  ],
  [
    'In a CI job, with the secret in the variable GRAPHCRED_SECRET:',
    'token=$(graphcred token get --lifetime 15m)',
  ],
];

const FILES = [
  [
    '.graphcredrc',
    'Settings of a project, YAML or JSON, in the working directory or one above it, also with .json, .yaml or .yml at the end of its name. Trusted only after graphcred config trust.',
  ],
  ['~/.graphcredrc', 'Your settings, if there is no such file in a project.'],
  [
    '~/.config/graphcred/config.json',
    'Your settings, as graphcred login writes them; config.yaml and config.yml are read too. XDG_CONFIG_HOME moves this folder.',
  ],
  [
    '~/.config/graphcred/store.key',
    'The key of the encrypted file store, unless GRAPHCRED_STORE_KEY or GRAPHCRED_STORE_KEY_FILE gives another.',
  ],
  ['~/.config/graphcred/trusted/', 'Which config files you have approved.'],
  [
    '~/.local/state/graphcred/',
    'A small record for each token and secret that is kept. The value is in the keychain, or encrypted in the record. XDG_STATE_HOME moves this folder.',
  ],
];

/**
 * Returns the manual page.
 * @param tables the exports of src/cli/args/{catalogue,options,help-topics}.ts and src/cli/output/exit-codes.ts
 * @param date year, month and day of the last change
 */
export function manPage({ COMMANDS, HEADINGS, OUTPUT, TOPICS, EXITS }, { version, date }) {
  const shared = [OUTPUT, ...HEADINGS.flatMap(([, options]) => options)];
  const { environment, formatting } = TOPICS;
  const flags = ([setting, flag, variables, fallback]) =>
    variables
      .split(', ')
      .filter(Boolean)
      .map((variable, at, [first]) => [
        variable,
        [
          flag ? `like ${flag}` : setting,
          at > 0 && variable.startsWith('TG_') && variable !== 'TG_SSL_PORT' && `unless ${first} is set`,
          fallback && `default: ${fallback}`,
        ]
          .filter(Boolean)
          .join('; '),
      ]);
  return `${[
    '.\\" Made from the tables in src/cli by scripts/docs.mjs.',
    `.TH GRAPHCRED 1 "${date}" "graphcred ${version}" "User Commands"`,
    '.ad l',
    '.SH NAME',
    `graphcred \\- ${plain('manage the credentials of a TigerGraph database')}`,
    '.SH SYNOPSIS',
    `${bold('graphcred')} ${italic('command')} [${italic('options')}] [${italic('words')}]`,
    '.br',
    `${bold('graphcred help')} [${italic('command')} | settings | exit\\-codes | environment | formatting]`,
    '.SH DESCRIPTION',
    prose(
      'A secret is long-lived: a user makes it with name and password, and it stands for that user. A token is short-lived: it is minted from a secret, and the REST server of the database asks for it with every request. graphcred makes, lists and drops secrets, mints tokens from them, keeps tokens in the keychain of the operating system, and hands them to people, scripts and CI jobs.',
    ),
    '.PP',
    prose(
      'A credential is never given on the command line, where other users could read it. It comes from stdin, a file, a variable, a program, the store, or a question on the terminal. The result goes to stdout and nothing else does; notes, warnings and questions go to stderr.',
    ),
    '.SH EXAMPLES',
    ...FIRST.map(([text, line]) => `${prose(text)}\n${examples([line])}`)
      .join('\n.PP\n')
      .split('\n'),
    '.SH COMMANDS',
    ...COMMANDS.map((spec) => command(spec, shared)),
    '.SH OPTIONS',
    prose('Every command that can use them takes these, after its name.'),
    ...HEADINGS.flatMap(([heading, options]) => [`.SS ${heading}`, ...options.map(option)]),
    '.SS Everywhere',
    option(OUTPUT),
    entry(`${bold('-h')}, ${bold('--help')}`, 'help, with examples'),
    entry(bold('--version'), 'print the version (graphcred alone, without a command)'),
    '.SH OUTPUT FORMATS',
    prose(formatting.intro),
    ...formatting.rows.map(([format, shape]) => entry(`${bold('-o')} ${bold(format)}`, shape)),
    '.SH ENVIRONMENT',
    prose(environment.intro),
    ...environment.rows.flatMap(flags).map(([variable, text]) => entry(bold(variable), text)),
    '.SH FILES',
    ...FILES.map(([file, text]) => entry(italic(file), text)),
    '.SH EXIT STATUS',
    ...EXITS.map(({ status, codes, meaning, retry }) =>
      entry(
        bold(status === 128 ? '128 + n' : String(status)),
        `${meaning}${codes.length > 0 ? ` (${codes.join(', ')})` : ''}${retry && retry !== 'no' ? `; try again: ${retry}` : ''}`,
      ),
    ),
    '.SH SEE ALSO',
    `${bold('curl')}(1),\n${bold('secret-tool')}(1)`,
  ].join('\n')}\n`;
}

// Makes the tables of docs/dev/fidelity.md: the rules that the client assumes about real servers.

const INTERFACE = 'test/contract/core-interface.test.ts';
const HOSTILE = 'test/contract/core-hostile.test.ts';
const REPLIES = 'test/contract/core-replies.test.ts';
const TOLD = 'test/contract/core-errors-told.test.ts';
const TEXT = 'test/unit/core-gsql-text.test.ts';
const CHANGED = 'test/contract/core-version-changed.test.ts';

/** Rules about the protocol that are not about refusals. */
export const RULES = [
  {
    rule: 'Tokens of 3.0 to 3.4: `POST` (by password `GET`), `PUT`, `DELETE /requesttoken` with everything in the query but a secret to mint from, which is the body. 3.5 and later: `POST`, `PUT`, `DELETE` with JSON.',
    evidence: 'documented',
    file: INTERFACE,
    test: 'the token paths and methods are those of 3.x',
  },
  {
    rule: 'Tokens of 4.x: `POST` and `DELETE /gsql/v1/tokens` at the GSQL server.',
    evidence: 'documented',
    file: INTERFACE,
    test: 'the token paths and methods are those of 4.x',
  },
  {
    rule: 'The token stands at `token`, or under `results` for a password on 3.x; both are read.',
    evidence: 'documented',
    file: HOSTILE,
    test: 'finds the token under results too',
  },
  {
    rule: 'A refusal may come with HTTP 200 and `"error": true`, and a success with `"error": "false"`: the field counts, not the status.',
    evidence: 'reported',
    file: HOSTILE,
    test: 'if answered with "error":%s and status 200 is a refusal',
  },
  {
    rule: 'JSON may hold raw line breaks inside strings.',
    evidence: 'documented',
    file: HOSTILE,
    test: 'reads JSON with raw line breaks inside texts',
  },
  {
    rule: '3.x: `expiration` is Unix time; a small number counts from now.',
    evidence: 'documented',
    file: HOSTILE,
    test: 'on 3.x a small number counts from now, a large one is Unix time, and a text of digits is accepted',
  },
  {
    rule: '4.x: a token ends at the `exp` of its JWT, whatever the text of `expiration` says; `iat` is five seconds back.',
    evidence: 'documented',
    file: HOSTILE,
    test: 'on 4.x it is the JWT’s exp, and the granted life counts from its time of issue',
  },
  {
    rule: '4.x: the lifetime counts seconds; a server that counts milliseconds is recognised by what it granted.',
    evidence: 'reported',
    file: INTERFACE,
    test: 'a server that counts milliseconds is recognized by the granted life, and then asked in milliseconds',
  },
  {
    rule: '4.x cannot say that a token to delete is unknown, so the token is checked first.',
    evidence: 'documented',
    file: INTERFACE,
    test: 'an unknown token throws, or returns true with skipNA',
  },
  {
    rule: '4.x: a JWT logs in at the GSQL server from 4.1.2 on.',
    evidence: 'documented',
    file: INTERFACE,
    test: 'a token can be deleted without other credentials, because it logs in by itself',
  },
  {
    rule: '4.x: `Authorization: GSQL-Secret` logs in with a secret.',
    evidence: 'documented',
    file: INTERFACE,
    test: 'a secret logs in if no password is given',
  },
  {
    rule: '4.x lists secrets in plain text; graphcred masks them. The list is a list, or one object.',
    evidence: 'client',
    file: HOSTILE,
    test: 'are masked, whatever the length of the values',
  },
  {
    rule: '`SHOW SECRET`: one entry is a line `- Secret:`, then `- Alias:`, `- Token:` lines and `- GraphName:`.',
    evidence: 'documented',
    file: TEXT,
    test: 'is read in the documented form',
  },
  {
    rule: '`CREATE SECRET`: the value stands between `The secret: ` and the next blank.',
    evidence: 'client',
    file: TEXT,
    test: 'has the value between these words and a blank',
  },
  {
    rule: '`DROP SECRET`: a line begins with `Successfully dropped secrets`.',
    evidence: 'client',
    file: TEXT,
    test: 'is success, refusal or unclear',
  },
  {
    rule: 'Lines that begin with `__GSQL__` are for the shell; the cookie line holds the login.',
    evidence: 'client',
    file: HOSTILE,
    test: 'is shown without the session cookie, which contains the login',
  },
  {
    rule: 'After a failed `USE GRAPH` the statements that follow still run. So it is sent alone before a first write, and nothing behind it counts as done when it fails.',
    evidence: 'reported',
    file: REPLIES,
    test: 'prevents %s, which would follow it',
  },
  {
    rule: '`GET /gsql/v1/version` exists on 4.x only; 401 and 403 there mean a 4.x that wants a login; the first line may lack its colon.',
    evidence: 'reported',
    file: HOSTILE,
    test: '4.x that wants a login',
  },
  {
    rule: '`POST /gsqlserver/gsql/version` tells the version of a 3.x without a login.',
    evidence: 'client',
    file: HOSTILE,
    test: '3.x that wants a login',
  },
  {
    rule: 'A web page, a 405, or a 404 without JSON is no answer of the version that has the path: the next call asks for the version.',
    evidence: 'client',
    file: CHANGED,
    test: 'a call to a server of %s that is now %s is refused without a question, and the next one works',
  },
  {
    rule: 'A cloud workspace that wakes up answers 502 with the page `Starting workspace`, or 202 with `is starting`.',
    evidence: 'reported',
    file: TOLD,
    test: 'every error of the library says what happened, and what to do next',
  },
  {
    rule: 'A suspended workspace answers 500 with the page `Failed to start workspace`; waiting for it is no use.',
    evidence: 'reported',
    file: TOLD,
    test: 'every error of the library says what happened, and what to do next',
  },
  {
    rule: '`GET /api/ping` needs no login.',
    evidence: 'documented',
    file: 'test/cli/wait.test.ts',
    test: '--wait has its own time limit, of which --timeout does not take anything',
  },
];

/** Returns the tables of the page, by the names of their marks. */
export const fidelityTables = () => ({
  rules: table(
    ['rule', 'evidence', 'test'],
    RULES.map(({ rule, evidence, file, test }) => [rule, evidence, `${code(file)}: ${test}`]),
  ),
});

function code(text) {
  return text === '' ? '' : `\`${text}\``;
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

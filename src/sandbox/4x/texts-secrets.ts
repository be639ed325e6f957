import { SOURCE, type Text } from '../text.js';

const NOTHING = { evidence: 'A', source: SOURCE.nothing } as const;

/** Secrets over REST, 4.x. */
export const SECRETS_4 = {
  secretsDropped4: {
    when: 'secrets are dropped',
    status: 200,
    message: 'Successfully removed the secrets for user {user}.',
    evidence: 'D',
    source: SOURCE.docs4,
  },
  aliasTaken4: {
    when: 'the alias of a new secret is taken',
    status: 400,
    statusAssumed: true,
    message: 'The secret with alias {alias} already exists.',
    evidence: 'A',
    source: "pyTigerGraph's tests on 4.1 and 4.2 need an error here; the words are its own",
  },
  valueTaken4: {
    ...NOTHING,
    when: 'the chosen value of a new secret is taken',
    status: 400,
    message: 'The secret value already exists.',
  },
  badAlias4: {
    ...NOTHING,
    when: 'the alias of a new secret is no identifier',
    status: 400,
    message: 'The alias {alias} is not a valid identifier.',
  },
  badValue4: {
    ...NOTHING,
    when: 'the chosen value of a new secret has blanks or commas, or is longer than 256 characters',
    status: 400,
    message: 'The value of a secret must be 1 to 256 printable characters without blanks and commas.',
  },
  unknownAlias4: {
    when: 'a secret to drop is unknown; nothing is dropped',
    status: 404,
    statusAssumed: true,
    message: 'Failed to drop secrets: [{alias}].',
    evidence: 'A',
    source: "pyTigerGraph's tests on 4.1 and 4.2 need an error here",
  },
  noSuchSecret4: {
    when: 'a secret to show is unknown',
    status: 200,
    message: 'The secret with alias {alias} does not exist.',
    evidence: 'C',
    source: 'pyTigerGraph 2.0 makes the missing secret only when no HTTP error comes; the words are assumed',
  },
  noSecretsNamed4: {
    ...NOTHING,
    when: 'a request to drop secrets names none',
    status: 400,
    message: 'The field secrets is required.',
  },
  needSuperuser4: {
    when: "somebody without superuser rights asks for another user's secrets",
    status: 403,
    statusAssumed: true,
    message: "You don't have permission to manage the secrets of user {user}.",
    evidence: 'A',
    source: 'server docs 4.1 and 4.2 name the right, not the answer',
  },
  mayNotCreate4: {
    when: 'a reader creates a secret (that a reader may not is an assumption)',
    status: 403,
    statusAssumed: true,
    message:
      "User '{user}' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.",
    evidence: 'F',
    source: 'a user of 4.2.5, for another command',
    variants: {
      old: {
        evidence: 'A',
        source: SOURCE.before,
        message: "You don't have permission to create a secret.",
      },
    },
  },
  unknownUser4: {
    ...NOTHING,
    when: 'userName names nobody',
    status: 404,
    message: 'User {user} does not exist.',
  },
} as const satisfies Record<string, Text>;

import { GraphException } from '../core/errors.js';

export const NEW_KEY =
  'make one with: node -p "crypto.randomBytes(32).toString(\'base64\')", and set GRAPHCRED_STORE_KEY to it';

const fault = (message: string, hint: string) => new GraphException('STORE_UNAVAILABLE', message, { hint });

export const notAKey = (what: string) => fault(`${what} is not 32 bytes in base64`, NEW_KEY);

export const notUsed = (file: string, why: string) =>
  fault(
    `the key file ${file} is not used: ${why}`,
    `remove ${file} and log in again, or set GRAPHCRED_STORE_KEY`,
  );

export const vanished = (file: string) =>
  fault(`the key file ${file} vanished while it was being made`, 'run the command again');

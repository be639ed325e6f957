import tls from 'node:tls';
import { describe, expect, test } from 'vitest';
import {
  describeFailure,
  type FailureKind,
  hiddenIn,
  isHtml,
  refuseTransfer,
  TransportFailure,
} from '../../src/core/http/errors.js';
import { send } from '../../src/core/http/send.js';
import type { HttpReply, HttpRequest } from '../../src/core/http/types.js';
import { BoundCredential, Deadline, Sensitive } from '../../src/index.js';

const BASE = 'https://db.example.test:14240/base';
const READ: HttpRequest = { server: 'service', base: BASE, method: 'GET', path: '/a?secret=hidden' };
const WRITE: HttpRequest = { ...READ, method: 'POST' };
const ADDRESS = 'https://db.example.test:14240';

const failed = (kind: FailureKind, reason: string, request = READ, sent = true) =>
  describeFailure(request, new TransportFailure(kind, reason, sent), 1500);
const DOUBT = ' The server may have carried out the request anyway.';
const CA = 'give the CA certificate; check that this is the right host';
const UNKNOWN_CA =
  'getCACertificates' in tls
    ? CA
    : `${CA}; this Node.js does not read the CAs of the system: name a file with CAs in NODE_EXTRA_CA_CERTS`;
const PLAIN = 'if the port speaks plain HTTP, use http:// in place of https://';
const CLIENT =
  'ask its administrator whether it allows TLS 1.2 or 1.3; if it requires a client certificate, give one and its key';

describe('no answer', () => {
  test.each<[FailureKind, string, string, boolean, string?]>([
    ['timeout', '', 'TIMEOUT', true, 'timeoutMs'],
    ['cancelled', '', 'CANCELLED', true],
    ['malformed', 'X', 'BAD_RESPONSE', true],
    ['too-large', 'over 9 bytes', 'BAD_RESPONSE', true],
    ['broken', 'EPIPE', 'NETWORK', true],
    ['tls', 'X', 'TLS', false, 'tls.ca'],
    ['proxy', 'HTTP 502', 'NETWORK', false],
  ])('because of %s (%s) is %s, in doubt: %s', (kind, reason, code, ambiguous, option) => {
    const error = failed(kind, reason, WRITE);
    expect(error).toMatchObject({ code, ambiguous, option });
    expect(error.message.includes(ADDRESS)).toBe(kind !== 'cancelled');
    expect(error.message.endsWith(DOUBT)).toBe(ambiguous);
    expect(failed(kind, reason, READ).ambiguous).toBe(false);
    expect(failed(kind, reason, WRITE, false).ambiguous).toBe(false);
    expect(failed(kind, reason, { ...WRITE, operation: 'check' }).message).not.toContain(DOUBT);
  });

  test('may be tried again after it was cancelled in time', () => {
    expect(failed('cancelled', '', WRITE).retryable).toBe(false);
    expect(failed('cancelled', '', WRITE, false).retryable).toBe(true);
  });

  test.each([
    ['ECONNREFUSED', 'the connection was refused'],
    ['ENOTFOUND', 'there is no such host'],
    ['EAI_AGAIN', 'the name server did not answer'],
    ['EHOSTUNREACH', 'EHOSTUNREACH'],
  ])('because of %s: %s', (reason, words) => {
    expect(failed('network', reason)).toMatchObject({
      message: `Cannot reach ${ADDRESS}: ${words}.`,
      fix: [expect.any(String), { command: 'doctor' }],
    });
  });

  test('because the connection broke, which plain HTTP to a port of TLS does too', () => {
    const plain = { ...READ, base: 'http://db.example.test' };
    expect(failed('broken', 'ECONNRESET').message).toMatch(`: the connection to ${ADDRESS} broke.`);
    expect(failed('broken', 'ECONNRESET').fix).not.toContain('if the port speaks TLS, use https://');
    expect(failed('broken', 'ECONNRESET', plain).fix).toContain('if the port speaks TLS, use https://');
  });

  test.each([
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'the certificate is for another name',
      'use the host name that the certificate is for',
    ],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'the port does not answer in TLS (ERR_SSL_WRONG_VERSION_NUMBER)', PLAIN],
    [
      'ERR_SSL_PACKET_LENGTH_TOO_LONG',
      'the port does not answer in TLS (ERR_SSL_PACKET_LENGTH_TOO_LONG)',
      PLAIN,
    ],
    ['CERT_HAS_EXPIRED', 'the certificate has expired', 'ask the administrator of the server to renew it'],
    ...[
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ].map((code) => [code, `the certificate is self-signed or its CA is unknown (${code})`, UNKNOWN_CA]),
    ...['TLSV13_ALERT_CERTIFICATE_REQUIRED', 'SSLV3_ALERT_BAD_CERTIFICATE', 'TLSV1_ALERT_UNKNOWN_CA'].map(
      (alert) => [`ERR_SSL_${alert}`, `the server refused the TLS handshake (ERR_SSL_${alert})`, CLIENT],
    ),
    [
      'ERR_OSSL_PEM_NO_START_LINE',
      'the client certificate or its key cannot be used (ERR_OSSL_PEM_NO_START_LINE)',
      'give a client certificate that the server accepts, and its key',
    ],
  ] as [string, string, string][])('because of %s in TLS says: %s', (reason, words, hint) => {
    expect(failed('tls', reason)).toMatchObject({
      message: `Cannot make a trusted connection to ${ADDRESS}: ${words}.`,
      hint,
    });
  });

  test('because of a mistake of the program is INTERNAL, and shows nothing of it', () => {
    const error = describeFailure(READ, new Error('hidden'), 1500);
    expect(error).toMatchObject({ code: 'INTERNAL', message: 'GET /a was not sent, because of a bug.' });
  });

  test('because the time was over before says that nothing was sent', async () => {
    const settings = { tls: {} };
    await expect(send(settings, WRITE, new Deadline(0.5))).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: `POST /a to ${ADDRESS} was not sent: the time limit of 0.0005 s for the whole call is over.`,
      ambiguous: false,
      option: 'timeoutMs',
    });
  });
});

describe('an answer', () => {
  const refused = (status: number, body = '', headers = {}, request = WRITE) =>
    refuseTransfer(request, { status, headers, body } satisfies HttpReply);

  test.each([
    [300, '', {}, 'BAD_RESPONSE', false],
    [399, '', {}, 'BAD_RESPONSE', false],
    // This status says that the request was carried out.
    [303, '', {}, 'BAD_RESPONSE', true],
    [504, '', {}, 'SERVER_UNAVAILABLE', true],
    [502, '<title>Starting workspace</title>', {}, 'SERVER_UNAVAILABLE', false],
    [202, 'is starting', {}, 'SERVER_UNAVAILABLE', false],
  ])('of %i with %j and %j is %s, and in doubt: %j', (status, body, headers, code, ambiguous) => {
    expect(refused(status, body, headers)).toMatchObject({ status, code, ambiguous });
    expect(refused(status, body, headers, READ)).toMatchObject({ code, ambiguous: false });
  });

  test.each([
    [200, 'is starting', {}],
    [299, '', {}],
    [400, '', {}],
    [404, 'is starting', {}],
    [500, '', {}],
    [500, '{"message": "auto start is not enabled"}', {}],
    [500, '{"message": "Graph Failed to start workspace is broken"}', {}],
    [501, '', {}],
    [505, '', {}],
    [401, 'The plain HTTP request was sent to HTTPS port', {}],
  ])('of %i with %j and %j is read on', (status, body, headers) => {
    expect(refused(status, body, headers)).toBeUndefined();
  });

  test('is shown without its page, and without credentials', () => {
    expect(refused(503, '<html>down</html>')).toMatchObject({ serverText: '' });
    expect(refused(503, 'down for now')).toMatchObject({ serverText: 'down for now' });
    expect(refused(502, 'auto start is not enabled')).toMatchObject({
      serverText: 'auto start is not enabled',
      retryable: false,
    });
  });
});

test.each([
  ['<!DOCTYPE html>', true],
  ['<html lang="en">', true],
  ['<?xml version="1.0"?>', true],
  ['\r\n <html>', true],
  ['<!-- words -->', false],
  ['words <html>', false],
  ['', false],
])('whether %j begins a web page: %s', (body, page) => {
  expect(isHtml({ status: 200, headers: {}, body })).toBe(page);
});

test('the login of a request is hidden whole, even where the password alone is the name of the user', () => {
  const servers = { restUrl: BASE, gsqlUrl: BASE };
  const hidden = (password: string) =>
    hiddenIn({
      ...READ,
      authorization: {
        scheme: 'Basic',
        username: 'ada',
        credential: new BoundCredential(new Sensitive(password), servers),
      },
      query: { secret: new BoundCredential(new Sensitive('in-query'), servers), graph: 'demo' },
      json: { token: new BoundCredential(new Sensitive('in-body'), servers) },
      hide: [undefined, new BoundCredential(new Sensitive('known'), servers)],
    }).map((one) => one.reveal());
  expect(hidden('horse')).toEqual(['horse', 'in-query', 'in-body', 'known', 'ada:horse']);
  expect(hidden('ada')).toEqual(['in-query', 'in-body', 'known', 'ada:ada']);
});

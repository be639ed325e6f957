import type { RawOptions, RawReply } from './connection.js';
import type { HttpReply, HttpRequest } from './http.js';
import type { Sensitive } from './sensitive.js';

export function bearer(_token: Sensitive): Sensitive {
  throw new Error('not written yet');
}

export function checkRawCall(
  _server: 'rest' | 'service',
  _base: string,
  _method: string,
  _path: string,
  _options: RawOptions,
): HttpRequest {
  throw new Error('not written yet');
}

export function checkRawReply(_request: HttpRequest, _reply: HttpReply, _token?: Sensitive): RawReply {
  throw new Error('not written yet');
}

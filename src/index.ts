export { GraphConnection } from './core/connection.js';
export type { Endpoints } from './core/endpoints.js';
export { type ErrorCode, type ErrorDetails, GraphException } from './core/errors.js';
export type { ProxyOptions, RequestEvent, TlsOptions } from './core/http.js';
export type {
  ConnectionOptions,
  DeleteTokenOptions,
  DropResult,
  GetTokenOptions,
  MintedToken,
  MintOptions,
  RawOptions,
  RawReply,
  RefreshTokenOptions,
  RenewOptions,
  TimeLeft,
} from './core/options.js';
export type { Generation, Secret, ServerVersion, TokenCheck, TokenTuple } from './core/protocol.js';
export { Sensitive } from './core/sensitive.js';

export {
  type ConnectionOptions,
  type DeleteTokenOptions,
  type DropResult,
  type GetTokenOptions,
  GraphConnection,
  type MintedToken,
  type MintOptions,
  type RawOptions,
  type RawReply,
  type RefreshTokenOptions,
  type RenewOptions,
} from './core/connection.js';
export type { Endpoints } from './core/endpoints.js';
export { type ErrorCode, type ErrorDetails, GraphException } from './core/errors.js';
export type { ProxyOptions, RequestEvent, TlsOptions } from './core/http.js';
export type { Generation, Secret, ServerVersion, TokenCheck, TokenTuple } from './core/protocol.js';
export { Sensitive } from './core/sensitive.js';

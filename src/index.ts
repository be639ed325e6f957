export { GraphConnection } from './core/connection.js';
export type { Endpoints, Servers } from './core/endpoints.js';
export { type ErrorCode, type ErrorDetails, type Fix, GraphException } from './core/errors.js';
export type { ProxyOptions, RequestEvent, TlsOptions } from './core/http/types.js';
export type * from './core/options.js';
export type { Generation, ServerVersion } from './core/protocol/version.js';
export { TokenProvider } from './core/provider.js';
export { BoundCredential, type GivenCredential, Sensitive } from './core/sensitive.js';
export { Deadline } from './core/time.js';

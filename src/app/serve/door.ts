import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Servers } from '../../core/endpoints.js';
import type { Authorization, ProxyOptions, TlsOptions } from '../../core/http/types.js';
import type { TokenProvider } from '../../core/provider.js';

/** An address on this machine in place of a server, and how requests are passed on from there. */
export interface Door {
  /** What a client must send in place of a credential. */
  readonly key: string;
  /** The base URL to which the paths of requests are added: one of `servers`. */
  readonly base: string;
  /** The beginning of paths for the REST server; the others, or all when it is absent, are for the GSQL server. */
  readonly restPath?: string | undefined;
  readonly servers: Servers;
  readonly tls: TlsOptions;
  readonly proxy: ProxyOptions;
  /** How long to wait for a connection, and for the first byte of an answer, in ms. */
  readonly timeoutMs: number;
  readonly tokens: Pick<TokenProvider<Authorization>, 'get' | 'replace' | 'noteFutile'>;
  readonly gsqlLogin: (() => Promise<Authorization>) | undefined;
}

export interface ForwardedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** As the client wrote it, because the URL class would encode some of it. */
  readonly path: string;
  /** With what keeps the connections to the server. */
  readonly by: Door & { readonly agent: Agent };
  /** What was read of the body; undefined when it is too long to be sent again. */
  body: Buffer[] | undefined;
  upstream?: ClientRequest;
}

export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

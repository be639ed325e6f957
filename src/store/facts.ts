/** What was learnt about a server and saves asking again. */
export interface ServerFacts {
  version?: string;
  versionAtUnix?: number;
  /** Unit in which the server counts lifetimes. */
  lifetimeUnit?: 's' | 'ms';
}

/** Empty when nothing is known. Never throws. */
export function readFacts(_stateDir: string, _serviceUrl: string): ServerFacts {
  throw new Error('not written yet');
}

/** Adds to what is known. A failure to write is ignored: the server is simply asked again. */
export function rememberFacts(_stateDir: string, _serviceUrl: string, _facts: ServerFacts): void {
  throw new Error('not written yet');
}

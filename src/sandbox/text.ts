/** R recorded from a real server, D documented, C needed by a client that works on real servers, F field report, A assumed. */
export type Evidence = 'R' | 'D' | 'C' | 'F' | 'A';

/** One answer. `{name}` marks in the message are filled in. */
export interface Wording {
  /** The HTTP status; absent for a line of GSQL text, which always comes with 200. */
  readonly status?: number;
  /** The server's own error code. */
  readonly code?: string;
  /** The code that ends a GSQL text. */
  readonly returnCode?: number;
  /** With `body`, the whole body; otherwise the message in it. */
  readonly message: string;
  readonly body?: 'json' | 'text' | 'html';
  /** Further keys of the JSON object. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface Proof {
  readonly evidence: Evidence;
  /** The source of the evidence. */
  readonly source: string;
}

export interface Text extends Wording, Proof {
  /** The case in which a server sends it. */
  readonly when: string;
  /** Set when the message is known but its status is assumed. */
  readonly statusAssumed?: true;
  /** Other wordings of the same case. A variant without a status has the status of the default. */
  readonly variants?: Readonly<Record<string, Wording & Proof>>;
}

export const SOURCE = {
  recording: 'a recording of /requesttoken on a 3.x GSQL server, from an integration test suite of 2022',
  docs30: 'server docs 3.2 and 3.4, built-in endpoints',
  docs35: 'server docs 3.5 to 3.11, built-in endpoints',
  docs4: 'server docs 4.1 and 4.2, GSQL endpoints',
  jwtDocs: 'server docs 3.10 to 4.2, JWT token page',
  nothing: 'nothing is published',
  before: 'assumed before a recording or report was found',
} as const;

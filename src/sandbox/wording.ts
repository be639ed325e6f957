/**
 * R recorded from a real server, D documented, C needed by a client that works on real servers, F field report; absent
 * when the text is assumed.
 */
export type Evidence = 'R' | 'D' | 'C' | 'F';

/** One answer. `{name}` marks in the message are filled in. */
export interface Wording {
  /** The HTTP status; absent for a line of GSQL text, which always comes with 200. */
  readonly status?: number | undefined;
  /** The server's own error code. */
  readonly code?: string | undefined;
  /** The code that ends a GSQL text. */
  readonly returnCode?: number;
  /** With `body`, the whole body; otherwise the message in it. */
  readonly message: string;
  readonly body?: 'json' | 'text' | 'html' | undefined;
  /** Further keys of the JSON object. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A text of the tables. The comment above it says in which case a server sends it, and where that is known from. */
export interface Text extends Wording {
  readonly evidence?: Evidence | undefined;
}

/** Makes a text that comes with this HTTP status. */
export function said(status: number, message: string, evidence?: Evidence, body?: Wording['body']): Text {
  return { status, message, evidence, body };
}

export const NO_PRIVILEGE =
  "User '{user}' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.";

/**
 * An answer. `{name}` marks in the message are filled in. The comment above each says in which case a server sends it,
 * and where that is known from; without a source it is assumed.
 */
export interface Text {
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

/** Makes a text that comes with this HTTP status. */
export function said(status: number, message: string, body?: Text['body']): Text {
  return { status, message, body };
}

export const NO_PRIVILEGE =
  "User '{user}' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.";

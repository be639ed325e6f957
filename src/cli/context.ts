/** The real edges of the program: made once in main.ts, and again by the test helper. */
export interface Context {
  /** Words after `graphcred`. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly uid: number | undefined;
  readonly pid: number;
  readonly stdin: { readonly isTTY: boolean; read(): Promise<string> };
  readonly stdout: Output;
  readonly stderr: Output;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds since 1970 at which this process started. */
  readonly startedAt: number;
  /** What the standalone executable says below the version; the npm package says nothing. */
  readonly build?: string;
  /** How to start this program again as a child: the command and its first arguments. */
  readonly self: { readonly command: string; readonly args: readonly string[] };
  /** Resolves on the first SIGINT or SIGTERM. */
  stopped(): Promise<NodeJS.Signals>;
}

export interface Output {
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  write(text: string): void;
}

/** The word that makes this program its own helper process; nobody types it. */
export const KEYCHAIN_CHILD = '__keychain';

/** The word by which the shells' completion scripts ask what could be typed next; nobody types it. */
export const COMPLETE = '__complete';

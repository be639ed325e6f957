/** Nearest first. `flag` … `top` are where a person can have said something; `default` is ours. */
export type Level = 'flag' | 'variable' | 'field' | 'profile' | 'top' | 'default';

/** Whether a value of this level stands in the config file. */
export function isInFile(level: string | undefined): boolean {
  return level === 'profile' || level === 'top';
}

/**
 * Waits for an answer that may never come. On a busy machine it may be here when the time is found to be over, so it is
 * looked at before `giveUp` is called.
 * @returns ends the wait
 */
export function waitAtMost(ms: number, giveUp: () => void): () => void {
  let last: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    last = setImmediate(giveUp);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(last);
  };
}

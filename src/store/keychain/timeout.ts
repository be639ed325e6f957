/**
 * Waits for an answer that may never come. On a busy machine the timer may fire although the answer has arrived, so
 * pending input is handled before `giveUp` is called.
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

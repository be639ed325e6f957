/** Ends timers of this many ms or more sooner by the factor. Returns what undoes it. */
export function shortenTimers(factor: number, from = 1000): () => void {
  const { setTimeout } = globalThis;
  const shorter = (work: () => void, ms = 0) => setTimeout(work, ms < from ? ms : ms / factor);
  globalThis.setTimeout = shorter as typeof setTimeout;
  return () => {
    globalThis.setTimeout = setTimeout;
  };
}

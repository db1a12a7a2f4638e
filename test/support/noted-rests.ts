/** Rests of nobody, which note how long each request is said to have taken. */
export function notedRests() {
  const tookMs: number[] = [];
  const restMs = (_caller: string, ms: number): number => {
    tookMs.push(ms);
    return 0;
  };
  return { tookMs, rests: { restMs } };
}

/** Waits so long. Only for what is tried again after a while; a condition that can be waited for is waited for. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

/** Ends the retries of a stopped lane. */
export class LaneClosed extends Error {
  override readonly name = "LaneClosed";
}

/** A closed lane has no pending commands; the slot's next holder resolves its batches. */
export async function ignoreLaneClosed(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof LaneClosed)) throw error;
  }
}

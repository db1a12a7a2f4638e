/** Breaks off what a lane that was stopped still wanted to know. */
export class LaneClosed extends Error {
  override readonly name = "LaneClosed";
}

/** Everybody inside a closed lane has been answered; whoever takes the slot next finds out about the rest. */
export async function unlessClosed(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof LaneClosed)) throw error;
  }
}

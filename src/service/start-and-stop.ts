/** The parts of the service: started in the order of one list, stopped in reverse. */

export interface Component {
  /** For errors. */
  readonly name: string;
  /** @returns how to stop it, if it has to be stopped. Called once. */
  readonly start: () => Promise<Stop | undefined> | Stop | undefined;
}

type Stop = () => Promise<unknown> | unknown;

/**
 * Starts components one after the other.
 *
 * @returns Stops them in reverse order, also when one of them fails to stop.
 * @throws What a start threw, after the components before it were stopped.
 */
export async function startAll(components: readonly Component[]): Promise<() => Promise<void>> {
  const started: { readonly name: string; readonly stop: Stop }[] = [];
  const stopAll = async (): Promise<void> => {
    const failures: Error[] = [];
    for (const { name, stop } of started.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        failures.push(new Error(`${name} failed to stop`, { cause: error }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, "some components failed to stop");
  };
  try {
    for (const { name, start } of components) {
      const stop = await start();
      if (stop !== undefined) started.push({ name, stop });
    }
  } catch (error) {
    await stopAll().catch(() => undefined);
    throw error;
  }
  return stopAll;
}

/** The parts of the service: started in the order of one list, stopped in reverse. */

export interface Component {
  /** For errors. */
  readonly name: string;
  readonly start?: () => Promise<unknown> | unknown;
  /** Called once, and only if `start` has succeeded. */
  readonly stop?: () => Promise<unknown> | unknown;
}

/**
 * Starts components one after the other.
 *
 * @returns Stops them in reverse order, also when one of them fails to stop.
 * @throws What a start threw, after the components before it were stopped.
 */
export async function startAll(components: readonly Component[]): Promise<() => Promise<void>> {
  const started: Component[] = [];
  const stop = async (): Promise<void> => {
    const failures: Error[] = [];
    for (const component of started.splice(0).reverse()) {
      try {
        await component.stop?.();
      } catch (error) {
        failures.push(new Error(`${component.name} failed to stop`, { cause: error }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, "some components failed to stop");
  };
  try {
    for (const component of components) {
      await component.start?.();
      started.push(component);
    }
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return stop;
}

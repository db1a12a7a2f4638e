import { onTestFinished, type TestContext } from "vitest";
import { makeNetwork, type Network, whyNoNetwork } from "../../bench/attacks/network.mjs";
import { required } from "./required.ts";

/** A network namespace for one test, which is skipped where there can be none. */
export function testNetwork(context: TestContext): Network {
  required(context, whyNoNetwork());
  const network = makeNetwork();
  onTestFinished(network.remove);
  return network;
}

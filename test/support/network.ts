import { onTestFinished, type TestContext } from "vitest";
import { makeNetwork, type Network, whyNoNetwork } from "../../bench/attacks/network.mjs";
import { required } from "./required.ts";

/** A network namespace for one test, which is skipped where there can be none. */
export function testNetwork(context: TestContext): Network {
  if (process.getuid?.() !== 0) context.skip("only root can make a network namespace");
  required(context, whyNoNetwork());
  const network = makeNetwork();
  onTestFinished(network.remove);
  return network;
}

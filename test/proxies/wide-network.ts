/** A test's network is given IPv6 addresses too: its own one, and callers in several networks of 64 bits of one of 48. */
import { execFileSync } from "node:child_process";
import type { TcpNetConnectOpts } from "node:net";
import type { Network } from "../../bench/attacks/network.mjs";

const THEIRS = "2001:db8:77:ffff::1";

/** @returns how a caller of the network of this number, from 1, connects to a port */
export function addWideNetwork(network: Network, networks: number): (from: number, port: number) => TcpNetConnectOpts {
  const add = (address: string, beside: string, command: (...words: string[]) => readonly string[]): void => {
    const run = (...words: string[]): string => {
      const [program = "", ...more] = command("ip", ...words);
      return `${execFileSync(program, more)}`;
    };
    const [, device = ""] = run("-o", "addr", "show", "to", beside).split(/\s+/);
    run("addr", "add", `${address}/48`, "dev", device, "nodad");
  };
  add(THEIRS, network.theirs, network.command);
  const ours = Array.from({ length: networks }, (_, at) => `2001:db8:77:${at + 1}::1`);
  for (const address of ours) add(address, network.ours, (...words) => words);
  return (from, port) => ({ host: THEIRS, port, localAddress: ours[from - 1] ?? "" });
}

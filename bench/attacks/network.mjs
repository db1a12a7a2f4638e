/**
 * A two-ended network on this machine: clients in their own namespace have a non-loopback address. Needs Linux, root
 * and `ip` (iproute2).
 */
import { execFileSync } from "node:child_process";

/** Why there can be none; undefined when there can. */
export function whyNoNetwork() {
  const name = `parbook-try-${process.pid}`;
  try {
    ip("netns", "add", name);
    ip("netns", "del", name);
  } catch (error) {
    return `a network namespace cannot be made: ${String(error.message).trim().split("\n").at(-1)}`;
  }
}

/**
 * Makes one. `ours` is the address at which its callers find us, `theirs` is inside; `command` makes a command line that
 * runs inside. `ours6` is for callers with IPv6, who have all addresses that begin with the 48 bits of `wide6`. All of it goes with `remove`, which may be called twice.
 */
export function makeNetwork() {
  const name = `parbook-${process.pid}`;
  // Names of interfaces have at most 15 characters.
  const [outer, inner] = ["a", "b"].map((end) => `pb${process.pid % 1e9}${end}`);
  // Of the block for benchmarks (RFC 2544), so that no real network is hidden.
  const net = `198.18.${process.pid % 250}`;
  const part = (process.pid % 250).toString(16);
  // Of the block for documentation (RFC 3849).
  const [link6, wide6] = [`2001:db8:ffff:${part}`, `2001:db8:${part}`];
  const remove = () => {
    for (const words of [
      ["link", "del", outer],
      ["netns", "del", name],
    ]) {
      try {
        ip(...words);
      } catch {
        // It was never made, or is gone.
      }
    }
  };
  try {
    ip("netns", "add", name);
    ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name);
    ip("addr", "add", `${net}.1/24`, "dev", outer);
    ip("link", "set", outer, "up");
    ip("-n", name, "addr", "add", `${net}.2/24`, "dev", inner);
    ip("-n", name, "link", "set", inner, "up");
    ip("addr", "add", `${link6}::1/64`, "dev", outer, "nodad");
    ip("-n", name, "addr", "add", `${link6}::2/64`, "dev", inner, "nodad");
    ip("route", "add", `${wide6}::/48`, "via", `${link6}::2`);
    ip("-n", name, "link", "set", "lo", "up");
    ip("-n", name, "route", "add", "local", `${wide6}::/48`, "dev", "lo");
    ip("netns", "exec", name, "sysctl", "-q", "net.ipv6.ip_nonlocal_bind=1");
  } catch (error) {
    remove();
    throw error;
  }
  return {
    ours: `${net}.1`,
    theirs: `${net}.2`,
    ours6: `${link6}::1`,
    wide6,
    command: (...words) => ["ip", "netns", "exec", name, ...words],
    remove,
  };
}

function ip(...words) {
  execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });
}

/** The files of ops/high-availability, with what docs/high-availability.md tells an operator to replace. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const RECIPE = fileURLToPath(new URL("../../ops/high-availability/", import.meta.url));
/** Lines of which each machine has its own. */
const OWN = /^\s*(name|listen|connect_address|listen-.*-urls|initial-advertise-peer-urls|advertise-client-urls):/;

/**
 * @param prefix of the network's addresses, such as `198.19.7.`
 * @param own of the machine that the file is for; undefined for files that are the same on all
 * @param replaced texts by what they are replaced with
 */
export async function readRecipe(
  file: string,
  prefix: string,
  own: { readonly name: string; readonly number: number } | undefined,
  replaced: Readonly<Record<string, string>>,
): Promise<string> {
  const lines = (await readFile(`${RECIPE}${file}`, "utf8")).split("\n").map((line) => {
    if (own === undefined || !OWN.test(line)) return line;
    return line.replace("10.0.0.1:", `10.0.0.${own.number}:`).replace(/^name: .*/, `name: ${own.name}`);
  });
  let text = lines.join("\n");
  for (const [from, to] of Object.entries(replaced)) text = text.replaceAll(from, to);
  return text.replaceAll("10.0.0.", prefix);
}

/** The same proxy where the operator and the clients find it: with a load balancer before the nodes, without TLS. */
export function withLoadBalancer(
  database: string,
  address: string,
  nodes: readonly { readonly name: string; readonly address: string }[],
): string {
  const section = (name: string, port: number): string[] => [
    `listen ${name}`,
    `    bind ${address}:${port}`,
    "    mode http",
    "    timeout client 75s",
    "    timeout server 75s",
    "    http-error status 503 content-type application/json string '{}' hdr Retry-After 5",
    // The node has ended meanwhile: whether the request was done is not known.
    "    http-error status 502 content-type application/json string '{}' hdr Retry-After 5",
    "    option httpchk GET /readyz",
    "    http-check expect status 200",
    ...nodes.map((node) => `    server ${node.name} ${node.address}:${port} check inter 1s fall 2 rise 1`),
  ];
  const own = database.replace("127.0.0.1:5000", `${address}:5000`);
  return [own, ...section("api", 8080), ...section("auth", 8081), ""].join("\n");
}

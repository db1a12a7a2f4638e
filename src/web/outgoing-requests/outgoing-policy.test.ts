import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseNetwork } from "../../std/network.ts";
import { isAllowedAddress, judgeUrl, NOT_ALLOWED, type OutgoingPolicy } from "./outgoing-policy.ts";

const networks = (...texts: string[]) => texts.flatMap((text) => parseNetwork(text) ?? []);

const PRODUCTION: OutgoingPolicy = {
  allowLoopback: false,
  allowCleartext: false,
  allowedPorts: [443],
  allowedNetworks: [],
  refusedNetworks: [],
};
const SANDBOX: OutgoingPolicy = { ...PRODUCTION, allowLoopback: true, allowCleartext: true, allowedPorts: "any" };

const NO_HOST = "the URL does not begin with https:// and a host";

describe("a URL in production", () => {
  test.each([
    ["https://receiver.example"],
    ["https://receiver.example/path?query=1&x=%20"],
    ["HTTPS://RECEIVER.EXAMPLE:443/"],
    ["https://93.184.215.14/hook"],
    ["https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/hook"],
    ["https://xn--bcher-kva.example/"],
    [`https://receiver.example/${"x".repeat(2_023)}`],
    // Beside networks that are not public.
    ["https://11.0.0.1/"],
    ["https://100.63.255.255/"],
    ["https://100.128.0.1/"],
    ["https://126.255.255.255/"],
    ["https://128.0.0.1/"],
    ["https://172.15.255.255/"],
    ["https://172.32.0.1/"],
    ["https://192.0.1.1/"],
    ["https://192.0.3.1/"],
    ["https://198.17.255.255/"],
    ["https://198.20.0.1/"],
    ["https://223.255.255.255/"],
    ["https://[2001:200::1]/"],
    ["https://[2003::1]/"],
  ])("%s is allowed", (url) => {
    expect(judgeUrl(url, PRODUCTION)).toBeUndefined();
  });

  test.each([
    ["loopback", "https://127.0.0.1/"],
    ["the last of loopback", "https://127.255.255.254/"],
    ["loopback in octal", "https://0177.0.0.1/"],
    ["loopback in hexadecimal", "https://0x7f.0.0.1/"],
    ["loopback as one number", "https://2130706433/"],
    ["loopback as one hexadecimal number", "https://0x7f000001/"],
    ["loopback as one octal number", "https://017700000001/"],
    ["loopback with two parts", "https://127.1/"],
    ["loopback with a dot at its end", "https://127.0.0.1./"],
    ["loopback with escapes", "https://%31%32%37.0.0.1/"],
    ["this machine", "https://0.0.0.0/"],
    ["this machine as one number", "https://0/"],
    ["a private network", "https://10.0.0.1/"],
    ["another private network", "https://172.31.255.255/"],
    ["a third private network", "https://192.168.0.1/"],
    ["a carrier's network", "https://100.64.0.1/"],
    ["Alibaba's metadata", "https://100.100.100.200/latest/meta-data/"],
    ["most clouds' metadata", "https://169.254.169.254/latest/meta-data/"],
    ["their metadata as one number", "https://2852039166/"],
    ["metadata of containers", "https://169.254.170.2/v2/credentials"],
    ["Azure's wire server", "https://168.63.129.16/"],
    ["Oracle's metadata", "https://192.0.0.192/"],
    ["protocols' addresses", "https://192.0.0.170/"],
    ["documentation", "https://192.0.2.1/"],
    ["more documentation", "https://198.51.100.255/"],
    ["yet more documentation", "https://203.0.113.255/"],
    ["benchmarks", "https://198.18.0.1/"],
    ["the last of benchmarks", "https://198.19.255.255/"],
    ["the last of a carrier's network", "https://100.127.255.255/"],
    ["a relay of 6to4", "https://192.88.99.1/"],
    ["multicast", "https://224.0.0.1/"],
    ["the last of multicast", "https://239.255.255.255/"],
    ["reserved", "https://240.0.0.1/"],
    ["broadcast", "https://255.255.255.255/"],
    ["loopback of IPv6", "https://[::1]/"],
    ["no address of IPv6", "https://[::]/"],
    ["mapped loopback", "https://[::ffff:127.0.0.1]/"],
    ["mapped metadata in hexadecimal", "https://[::ffff:a9fe:a9fe]/"],
    ["IPv4-compatible loopback", "https://[::127.0.0.1]/"],
    ["NAT64 of a private address", "https://[64:ff9b::10.0.0.1]/"],
    ["NAT64 of a public address", "https://[64:ff9b::8.8.8.8]/"],
    ["a local prefix of NAT64", "https://[64:ff9b:1::a00:1]/"],
    ["6to4 of loopback", "https://[2002:7f00:1::]/"],
    ["Teredo", "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/"],
    ["ISATAP of a private address", "https://[2606:2800:21f:cb07:0:5efe:10.0.0.1]/"],
    ["ISATAP of a public address", "https://[2606:2800:21f:cb07:200:5efe:808:808]/"],
    ["a private network of IPv6", "https://[fd12:3456:789a::1]/"],
    ["Amazon's metadata of IPv6", "https://[fd00:ec2::254]/"],
    ["link-local of IPv6", "https://[fe80::1]/"],
    ["site-local of IPv6", "https://[fec0::1]/"],
    ["multicast of IPv6", "https://[ff02::1]/"],
    ["documentation of IPv6", "https://[2001:db8::1]/"],
    ["newer documentation of IPv6", "https://[3fff::1]/"],
    ["benchmarks of IPv6", "https://[2001:2::1]/"],
    ["identifiers of IPv6 (ORCHID)", "https://[2001:20::1]/"],
    ["the last of newer documentation", "https://[3fff:fff:ffff::1]/"],
    ["segment routing", "https://[5f00::1]/"],
    ["what is thrown away", "https://[100::1]/"],
  ])("with %s is not allowed", (_what, url) => {
    expect(judgeUrl(url, PRODUCTION)).toBe(NOT_ALLOWED);
  });

  test.each([
    ["without TLS", "http://receiver.example/", "the URL does not begin with https://"],
    ["of a file", "file:///etc/passwd", NO_HOST],
    ["of another protocol", "gopher://receiver.example/", NO_HOST],
    ["without a protocol", "receiver.example/", NO_HOST],
    ["with one slash", "https:/receiver.example/", NO_HOST],
    ["with three slashes", "https:///receiver.example/", NO_HOST],
    ["without a host", "https://", NO_HOST],
    ["with backslashes", "https:\\\\receiver.example\\", NO_HOST],
    ["with a backslash behind its host", "https://receiver.example\\@127.0.0.1/", "the URL is not valid"],
    ["with a user", "https://user@receiver.example/", "the URL has a user or password"],
    [
      "with a host that looks like another",
      "https://receiver.example:443@127.0.0.1/",
      "the URL has a user or password",
    ],
    ["with an empty user", "https://@receiver.example/", "the URL has a user or password"],
    ["with a fragment", "https://receiver.example/#x", "the URL has a fragment"],
    ["with an empty fragment", "https://receiver.example/#", "the URL has a fragment"],
    ["with another port", "https://receiver.example:8443/", "the port of the URL is not 443"],
    ["with the port of SMTP", "https://receiver.example:25/", "the port of the URL is not 443"],
    ["with the port 0", "https://receiver.example:0/", "the URL has the port 0"],
    ["with a port too high", "https://receiver.example:65536/", "the URL is not valid"],
    ["with a zone", "https://[fe80::1%25eth0]/", "the URL is not valid"],
    ["with five parts", "https://127.0.0.0.1/", "the URL is not valid"],
    ["with an open bracket", "https://[::1/", "the URL is not valid"],
    ["with a line break", "https://receiver.example/\r\nX: y", "the URL has characters other than printable ASCII"],
    ["with a tab in its host", "https://127.0.\t0.1/", "the URL has characters other than printable ASCII"],
    ["with wide digits", "https://１２７.0.0.1/", "the URL has characters other than printable ASCII"],
    ["with an ideographic dot", "https://127。0。0。1/", "the URL has characters other than printable ASCII"],
    ["with a blank before it", " https://receiver.example/", "the URL has characters other than printable ASCII"],
    ["of 2049 characters", `https://receiver.example/${"x".repeat(2_024)}`, "the URL has more than 2048 characters"],
    ["that is empty", "", NO_HOST],
  ])("%s is not allowed", (_what, url, why) => {
    expect(judgeUrl(url, PRODUCTION)).toBe(why);
  });
});

test("a sandbox reaches this machine, at any port and without TLS, and no other private address", () => {
  for (const url of [
    "http://localhost:3000/hook",
    "http://127.0.0.1:8080",
    "https://[::1]:8443/",
    "http://0x7f.1:1/",
  ]) {
    expect(judgeUrl(url, SANDBOX)).toBeUndefined();
  }
  for (const host of ["10.0.0.1", "169.254.169.254", "192.168.1.1", "[fd00::1]", "[fe80::1]", "0.0.0.0"]) {
    expect(judgeUrl(`http://${host}/`, SANDBOX)).toBe(NOT_ALLOWED);
  }
  expect(judgeUrl("ftp://localhost/", SANDBOX)).toBe("the URL does not begin with https:// or http:// and a host");
});

test("the operator allows ports, and networks beside the internet; what is refused is refused first", () => {
  const policy: OutgoingPolicy = {
    ...PRODUCTION,
    allowedPorts: [443, 8443],
    allowedNetworks: networks("10.20.0.0/16", "fd00:1::/32", "127.0.0.0/8"),
    refusedNetworks: networks("10.20.30.0/24", "93.184.215.0/24"),
  };
  expect(judgeUrl("https://10.20.0.1:8443/", policy)).toBeUndefined();
  expect(judgeUrl("https://[fd00:1::1]/", policy)).toBeUndefined();
  expect(judgeUrl("https://127.0.0.1/", policy)).toBeUndefined();
  expect(judgeUrl("https://10.20.30.1/", policy)).toBe(NOT_ALLOWED);
  expect(judgeUrl("https://93.184.215.14/", policy)).toBe(NOT_ALLOWED);
  expect(judgeUrl("https://10.21.0.1/", policy)).toBe(NOT_ALLOWED);
  expect(judgeUrl("https://10.20.0.1:9443/", policy)).toBe("the port of the URL is not 443 or 8443");
});

test("this machine's public addresses are loopback in all but name", () => {
  const own = ["93.184.215.14", "2606:2800::1", "fe80::1%eth0"];
  for (const address of ["93.184.215.14", "::ffff:93.184.215.14", "2606:2800::1"]) {
    expect(isAllowedAddress(address, PRODUCTION, own)).toBe(false);
    expect(isAllowedAddress(address, SANDBOX, own)).toBe(true);
    expect(isAllowedAddress(address, PRODUCTION, [])).toBe(true);
  }
});

test("what is no address is not allowed", () => {
  for (const text of ["", "localhost", "1.2.3", "/tmp/socket"]) {
    expect(isAllowedAddress(text, { ...SANDBOX, allowedNetworks: networks("0.0.0.0/0", "::/0") }, [])).toBe(false);
  }
});

test("a mapped address is allowed exactly if the IPv4 address is", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const mapped = `::ffff:${address}`;
      expect(isAllowedAddress(mapped, PRODUCTION, [])).toBe(isAllowedAddress(address, PRODUCTION, []));
    }),
  );
});

test("no text makes a request to an address that is not public", () => {
  const host = fc.oneof(
    fc.ipV4Extended(),
    fc.ipV6(),
    fc.webAuthority({ withIPv4: true, withIPv6: true, withUserInfo: true }),
  );
  fc.assert(
    fc.property(host, (text) => {
      const url = `https://${text.includes(":") && !text.includes("[") ? `[${text}]` : text}/`;
      if (judgeUrl(url, PRODUCTION) !== undefined) return;
      // Of an address all parts are numbers: names such as 0.example may be posted to.
      expect(new URL(url).hostname).not.toMatch(
        /^(?:0|10|127|169\.254|192\.168|22[4-9]|2[3-5][0-9])\.[0-9.]+$|^\[(?:f|:|::|[014-9a-e])/,
      );
    }),
  );
});

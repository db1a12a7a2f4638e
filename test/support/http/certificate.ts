import { readFileSync } from "node:fs";

const read = (name: string): Buffer => readFileSync(new URL(`../../service/certificates/${name}`, import.meta.url));

/** Of a server that is tested over TLS. Clients have to accept it unverified. */
export const readCertificate = (): { cert: Buffer; key: Buffer } => ({
  cert: read("first.crt"),
  key: read("first.key"),
});

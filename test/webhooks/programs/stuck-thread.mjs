/** The thread of outgoing requests, which never gets done with a request to /stuck. */
import { parentPort } from "node:worker_threads";
import "../../../dist/web/outgoing-requests/outgoing-thread-main.js";

parentPort.on("message", ({ request }) => {
  while (request?.url.endsWith("/stuck"));
});

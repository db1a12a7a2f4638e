/** Many transfers in one request. */
import type { Transfers } from "../../../transfers/transfers.ts";
import type { Api } from "../../api.ts";
import { errors } from "../../problems/problem-responses.ts";
import { MOVES } from "../transfers.ts";
import { BulkBody, BulkResult, MAX_BULK_VALUES, MAX_BYTES } from "./bulk-body.ts";
import { processBulk } from "./process-bulk.ts";

export function bulkTransferRoutes(api: Api, transfers: Transfers): void {
  bulkRoute(api, transfers, "platform", "createPlatformTransfers");
  bulkRoute(api, transfers, "internal", "createInternalTransfers");
}

function bulkRoute(api: Api, transfers: Transfers, kind: "internal" | "platform", operationId: string): void {
  api.post(
    `/v2/transfer/${kind}/bulk`,
    {
      bodyLimit: MAX_BYTES,
      config: { scope: MOVES[kind].scope, bulk: { maxValues: MAX_BULK_VALUES } },
      schema: {
        operationId,
        tags: ["Transfers"],
        summary: `${MOVES[kind].summary}, many at once`,
        description:
          "Up to 1,000 transfers, each as in the request for a single one, with a `ref_id`. The response is 200 even if every item was rejected. Each item takes effect once, so the whole or a part of a bulk may be sent again. Counts as one request for each item or KiB.",
        body: BulkBody,
        response: { 200: BulkResult, ...errors(400, 401, 403, 413, 415, 429, 500, 503) },
      },
    },
    async (request, reply) => {
      api.bulkAdmission.countItems(request, request.body.items.length);
      return processBulk({ transfers, request, reply, kind });
    },
  );
}

/** A bulk of transfers on the wire. */
import { type Static, Type } from "typebox";
import { ProblemBody } from "../../problems/problem-responses.ts";
import { Body, NamedEnum, RefId } from "../../requests/schemas.ts";
import { TransferBody } from "../transfer-record.ts";
import { MoveBody } from "../transfers.ts";

/** Of the whole body. An item has 24 at most, and about 8 with what is usual. */
export const MAX_BULK_VALUES = 25_000;
export const MAX_BYTES = 1_048_576;
const MAX_ITEMS = 1_000;

const { ref_id: _optional, ...MOVE_FIELDS } = MoveBody.properties;

export const ItemBody = Body(
  {
    ...MOVE_FIELDS,
    ref_id: Type.String({
      ...RefId,
      description:
        "The caller's own reference for this transfer, unique per kind of resource. If the same transfer is sent again, the item's status is EXISTS, with the first record.",
    }),
  },
  { title: "NewBulkTransferItem" },
);

const Mode = NamedEnum(
  "BulkMode",
  ["independent", "atomic"],
  "independent: each item takes effect on its own. atomic: all items or none.",
);

export const BulkBody = Body(
  {
    ref_id: Type.Optional(
      Type.String({
        ...RefId,
        description: "The caller's own reference for the bulk. Echoed, never claimed: only the items' ref_ids are.",
      }),
    ),
    mode: Mode,
    dry_run: Type.Optional(
      Type.Boolean({ description: "Whether the items are only tried: nothing is saved. Default: false." }),
    ),
    items: Type.Array(Type.Unknown(), {
      description: "The transfers, each with a ref_id of its own.",
      minItems: 1,
      maxItems: MAX_ITEMS,
      "x-items": ItemBody,
    }),
  },
  {
    title: "NewBulkTransfer",
  },
);

/** By the name of their count. */
export const STATUSES = {
  completed: "COMPLETED",
  rejected: "REJECTED",
  exists: "EXISTS",
  not_tried: "NOT_TRIED",
  would_complete: "WOULD_COMPLETE",
  unknown: "UNKNOWN",
} as const;
export type ItemStatus = (typeof STATUSES)[keyof typeof STATUSES];

const Count = Type.Integer({ minimum: 0 });

const ItemResult = Type.Object(
  {
    index: Type.Integer({ description: "The item's place in the request, from 0." }),
    ref_id: Type.Optional(Type.String({ description: "The item's ref_id, if it has one." })),
    status: NamedEnum(
      "BulkItemStatus",
      Object.values(STATUSES),
      "COMPLETED: posted. REJECTED: see `problem`. EXISTS: it was posted before, as `transfer`. NOT_TRIED: nothing was done. WOULD_COMPLETE: a dry run. UNKNOWN: it may have been posted. What is NOT_TRIED or UNKNOWN can be sent again.",
    ),
    transfer: Type.Optional(TransferBody),
    problem: Type.Optional(ProblemBody),
  },
  { title: "BulkTransferItem", description: "What became of an item." },
);

export const BulkResult = Type.Object(
  {
    id: Type.String({
      description: "The id of the request, as in the header X-Request-Id. Nothing is stored under it.",
    }),
    ref_id: Type.Optional(Type.String({ description: "The bulk's ref_id, as sent." })),
    mode: Mode,
    dry_run: Type.Boolean(),
    counts: Type.Object(
      {
        completed: Count,
        rejected: Count,
        exists: Count,
        not_tried: Count,
        would_complete: Count,
        unknown: Count,
      },
      { description: "How many items have each status." },
    ),
    ledger_history: Type.Optional(
      Type.String({
        description:
          "If an item EXISTS: the history of the ledger in which it was found. It changes when the ledger's database is started, restored from a backup, or taken over by a standby. What was found in one history was there together: none of it had gone when the last of it was found.",
      }),
    ),
    items: Type.Array(ItemResult, { description: "One for each item, in the order of the request." }),
  },
  {
    title: "BulkTransfer",
    description: "What became of each item of a bulk.",
  },
);

export type BulkBody = Static<typeof BulkBody>;
export type BulkResult = Static<typeof BulkResult>;
export type ItemResult = BulkResult["items"][number];

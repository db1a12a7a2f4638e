/** The types of events. Each begins with the type of its object. */
import { type ExternalTransferStatus, RECORD_TYPES, type RecordType } from "../transfers/transfers.ts";

export const OBJECT_TYPES = ["transfer", "execution", "conversion", "order", "profile", "market", "webhook"] as const;
export type ObjectType = (typeof OBJECT_TYPES)[number];

/** Only deposits and withdrawals that have steps are anything but completed. */
type TransferEventType = `transfer.${Lowercase<RecordType>}.${"pending" | "updated" | "completed" | "failed"}`;

const CHANGE_TYPES = [
  "execution.created",
  "conversion.created",
  "conversion.settled",
  "conversion.cancelled",
  "order.created",
  "order.submitted",
  "order.open",
  "order.triggered",
  "order.partially_filled",
  "order.filled",
  "order.cancelled",
  "order.rejected",
  "order.expired",
  "profile.created",
  "profile.updated",
  "profile.deactivated",
  "profile.activated",
  "market.halted",
  "market.resumed",
  "webhook.disabled",
] as const;

export type EventType = TransferEventType | (typeof CHANGE_TYPES)[number];

const OF_STATUS = {
  requested: "pending",
  approved: "updated",
  sent: "updated",
  completed: "completed",
  failed: "failed",
  cancelled: "failed",
} as const satisfies Record<ExternalTransferStatus, string>;

export function transferEventType(type: RecordType, status: ExternalTransferStatus = "completed"): TransferEventType {
  return `transfer.${type.toLowerCase() as Lowercase<RecordType>}.${OF_STATUS[status]}`;
}

/** Only withdrawals are approved and sent. */
const stepsOf = (type: RecordType): readonly ExternalTransferStatus[] =>
  type.endsWith("_DEPOSIT") ? ["requested", "completed", "failed"] : ["requested", "approved", "completed", "failed"];

/** In the order in which docs/events.md has them. */
export const EVENT_TYPES: readonly EventType[] = [
  ...RECORD_TYPES.flatMap((type) =>
    /_(?:DEBIT|CREDIT)$/.test(type)
      ? [transferEventType(type)]
      : stepsOf(type).map((status) => transferEventType(type, status)),
  ),
  ...CHANGE_TYPES,
];

export function objectTypeOf(type: EventType): ObjectType {
  return type.slice(0, type.indexOf(".")) as ObjectType;
}

/** After these the object never changes again. */
export const LAST_TYPES: readonly EventType[] = [
  "conversion.settled",
  "conversion.cancelled",
  "order.filled",
  "order.cancelled",
  "order.rejected",
  "order.expired",
  ...RECORD_TYPES.flatMap((type) => [transferEventType(type), transferEventType(type, "failed")]),
];

/** The types of events. Each begins with the type of its object. */
import type { RecordType } from "../transfers/transfers.ts";

export type ObjectType = "transfer" | "execution" | "conversion" | "order" | "profile";

type TransferEventType = `transfer.${Lowercase<RecordType>}.completed`;

type ChangeEventType =
  | "execution.created"
  | "conversion.created"
  | "conversion.settled"
  | "conversion.cancelled"
  | "order.created"
  | "order.submitted"
  | "order.open"
  | "order.triggered"
  | "order.partially_filled"
  | "order.filled"
  | "order.cancelled"
  | "order.rejected"
  | "order.expired"
  | "profile.created"
  | "profile.updated"
  | "profile.deactivated"
  | "profile.activated";

export type EventType = TransferEventType | ChangeEventType;

export function transferEventType(type: RecordType): TransferEventType {
  return `transfer.${type.toLowerCase() as Lowercase<RecordType>}.completed`;
}

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
];

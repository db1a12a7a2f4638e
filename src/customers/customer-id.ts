import type { Brand } from "../std/brand.ts";
import type { Uuid } from "../std/id.ts";

/** The id of a customer: the organisation that owns profiles and API clients. */
export type CustomerId = Brand<Uuid, "CustomerId">;

/**
 * Messages that are sent together, as the bytes of their frames. They are framed once for all readers: to frame a
 * thousand messages for each of a hundred readers would block the event loop for as long as the messages take.
 */
import { Sender } from "ws";

declare module "ws" {
  /** Public and documented in its source, but not in the types. */
  const Sender: {
    frame(
      data: Buffer,
      options: { readonly fin: boolean; readonly opcode: number; readonly readOnly: boolean },
    ): Buffer[];
  };
}

export interface Packet {
  /** The frames of all messages, one after the other. */
  readonly frames: Buffer;
  readonly messages: number;
}

/** A text in one frame, as a server sends it: whole and not masked (RFC 6455, section 5.2). */
const TEXT = { fin: true, opcode: 1, readOnly: true } as const;

export function packetOf(messages: readonly Buffer[]): Packet {
  return {
    frames: Buffer.concat(messages.flatMap((message) => Sender.frame(message, TEXT))),
    messages: messages.length,
  };
}

export function joined(packets: readonly Packet[]): Packet {
  return {
    frames: Buffer.concat(packets.map(({ frames }) => frames)),
    messages: packets.reduce((sum, { messages }) => sum + messages, 0),
  };
}

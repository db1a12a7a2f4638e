/**
 * Bounds what a TLS connection keeps of what was written to it. Node encrypts each write whole, into a buffer that it
 * keeps at its largest size for as long as the connection lives: connections that had read one large answer and then
 * idled held its size each. So a large write goes out in slices, each behind the one before it.
 *
 * This is done where all writes of a connection pass: answers, the frames of a feed, and what Node joins into one write
 * when they wait behind one another. The write counts as unsent (`writableLength`) until its last slice has left.
 */
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";

/** Four records of TLS. */
const SLICE_BYTES = 64 * 1024;

type Done = (error?: Error | null) => void;
interface Chunk {
  /** A socket takes texts as they are. */
  readonly chunk: Buffer | string;
  readonly encoding: BufferEncoding;
}

/** Has the connections of a server written to in slices, if it speaks TLS. */
export function sliceTlsWrites(server: object): void {
  if (server instanceof TlsServer) server.on("secureConnection", sliceWrites);
}

const left = new WeakMap<Socket, number>();

/**
 * A number that rises whenever some of what was written has left, and never falls. What Node counts of a connection that is
 * written to in slices does fall: bytes of a write that has begun count as unsent until its last slice has left, and as
 * written from the slice on in which they are.
 */
export function progressOf(socket: Socket): number {
  return left.get(socket) ?? socket.bytesWritten - socket.writableLength;
}

/** `_write` and `_writev` are how Node's streams are implemented and extended, and documented as that. */
function sliceWrites(socket: Socket): void {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  left.set(socket, 0);
  /** The same, but what has left counts: whole writes that are short, and slices. */
  const counting =
    (done: Done): Done =>
    (error) => {
      if (!error) left.set(socket, (left.get(socket) ?? 0) + 1);
      done(error);
    };
  const writeSlice: Socket["_write"] = (slice, encoding, done) => write(slice, encoding, counting(done));
  socket._write = (chunk: Buffer | string, encoding, done) => {
    if (isShort([{ chunk, encoding }])) writeSlice(chunk, encoding, done);
    else writeSlices(slicesOf([{ chunk, encoding }]), writeSlice, done);
  };
  if (writev === undefined) return;
  socket._writev = (chunks: Chunk[], done) => {
    if (isShort(chunks)) writev(chunks, counting(done));
    else writeSlices(slicesOf(chunks), writeSlice, done);
  };
}

/** No character takes more than three bytes for each unit of its text. */
function isShort(chunks: readonly Chunk[]): boolean {
  let bytes = 0;
  for (const { chunk } of chunks) bytes += typeof chunk === "string" ? 3 * chunk.length : chunk.length;
  return bytes <= SLICE_BYTES;
}

/** Large chunks are cut without a copy; neighbours that are small share a slice. */
function* slicesOf(chunks: readonly Chunk[]): Generator<Buffer, undefined> {
  let small: Buffer[] = [];
  let bytes = 0;
  for (const { chunk, encoding } of chunks) {
    const buffer = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
    if (bytes + buffer.length > SLICE_BYTES && bytes > 0) {
      yield Buffer.concat(small, bytes);
      small = [];
      bytes = 0;
    }
    if (buffer.length < SLICE_BYTES) {
      small.push(buffer);
      bytes += buffer.length;
    } else {
      for (let from = 0; from < buffer.length; from += SLICE_BYTES) yield buffer.subarray(from, from + SLICE_BYTES);
    }
  }
  if (bytes > 0) yield Buffer.concat(small, bytes);
  return undefined;
}

function writeSlices(slices: Iterator<Buffer, undefined>, write: Socket["_write"], done: Done): void {
  const next = (error?: Error | null): void => {
    const slice = error ? undefined : slices.next().value;
    if (slice === undefined) done(error);
    else write(slice, "buffer" as BufferEncoding, next);
  };
  next();
}

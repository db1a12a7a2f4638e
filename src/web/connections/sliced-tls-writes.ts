/**
 * Bounds the memory of a TLS connection for writes. Node encrypts each write as a whole, into a buffer that keeps its
 * largest size as long as the connection lives: an idle connection that had received one large response kept as much memory.
 * So large writes are sent in slices, one after the other.
 *
 * This happens in `_write` and `_writev`, through which all writes pass: responses, frames of feeds, and queued writes that
 * Node joins. A write counts as unsent (`writableLength`) until its last slice has been sent.
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

/** Slices the writes of a server's connections, if it is a TLS server. */
export function sliceTlsWrites(server: object): void {
  if (server instanceof TlsServer) server.on("secureConnection", sliceWrites);
}

const left = new WeakMap<Socket, number>();

/**
 * A number that increases whenever written bytes have been sent, and never decreases. A difference of Node's own counters
 * can decrease here: until its last slice has been sent, all bytes of a write count as unsent, and those of earlier slices
 * as written too.
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

// One direction-pair of a session: frames arrive once and in order, however often the stream between both sides breaks.
//   H1. Frames that carry something are numbered from 1; the other side delivers each number once, in order.
//   H2. What was not acknowledged is kept, and sent again on the next stream of the same session.
//   H3. At most `WINDOW_BYTES` are kept; while more is, `isFull`, and the owner holds back (it collects calls, of which there are at most a
//       few for each live run).
//   H4. Acknowledgements ride on whatever is sent; a side that has nothing to say acknowledges after `ACKNOWLEDGE_EVERY` frames or a quarter
//       of the window.
import { create } from '@bufbuild/protobuf';
import { type Frame, FrameSchema } from './link_pb.ts';

/** What a frame carries. */
export type FrameBody = Frame['what'];

/** A stream as both sides see it: frames arrive in order until it breaks, and then nothing arrives any more. */
export interface Wire {
  send(frame: Frame): void;
  /** The stream takes no more for now; `drained` follows. */
  readonly isCongested: boolean;
  close(why: string): void;
}

/** What a stream tells its owner. */
export interface WireEvents {
  frame(frame: Frame): void;
  /** It broke, or was closed by the other side; nothing follows. */
  closed(why: string): void;
  drained(): void;
}

/** Four seconds of 50,000 runs a second. */
export const WINDOW_BYTES = 16 * 2 ** 20;
const ACKNOWLEDGE_EVERY = 16;
/** What a frame costs beside its payload. */
const FRAME_BYTES = 32;

interface Kept {
  readonly number: number;
  readonly what: FrameBody;
  readonly bytes: number;
}

export class Channel {
  #wire: Wire | undefined;
  #sent = 0;
  #received = 0;
  /** Last acknowledgement that was given, and the bytes that came since. */
  #acknowledged = 0;
  #unacknowledgedBytes = 0;
  #kept: Kept[] = [];
  #keptBytes = 0;

  /** The last frame that arrived. */
  get received(): number {
    return this.#received;
  }

  /** Number of the last numbered frame that was sent. */
  get sent(): number {
    return this.#sent;
  }

  get isFull(): boolean {
    return this.#keptBytes >= WINDOW_BYTES;
  }

  /** Whether a frame may be sent now without more being kept than the stream takes. */
  get canSend(): boolean {
    return this.#wire !== undefined && !this.#wire.isCongested && !this.isFull;
  }

  /** Goes on over a new stream: what the other side has not received is sent again. */
  attach(wire: Wire, receivedByOther: number): void {
    this.#wire = wire;
    this.#forget(receivedByOther);
    for (const { number, what } of this.#kept) this.#put(number, what);
  }

  detach(): void {
    this.#wire = undefined;
  }

  /** Sends something that must arrive. Without a stream it is kept for the next one. Answers its number. */
  send(what: FrameBody): number {
    const number = ++this.#sent;
    const bytes = sizeOf(what);
    this.#kept.push({ number, what, bytes });
    this.#keptBytes += bytes;
    this.#put(number, what);
    return number;
  }

  /** Sends something that only counts now, such as a heartbeat. */
  sendUnnumbered(what: FrameBody): void {
    this.#put(0, what);
  }

  /** Whether what a frame carries is to be delivered. False: it was before, or it carries nothing. Throws if frames are missing. */
  accept(frame: Frame): boolean {
    this.#forget(frame.acknowledged);
    if (frame.number === 0) return false;
    if (frame.number <= this.#received) return false;
    if (frame.number !== this.#received + 1) {
      throw new RangeError(`frame ${frame.number} of the link came after frame ${this.#received}`);
    }
    this.#received = frame.number;
    this.#unacknowledgedBytes += sizeOf(frame.what);
    const isDue =
      this.#received - this.#acknowledged >= ACKNOWLEDGE_EVERY || this.#unacknowledgedBytes * 4 > WINDOW_BYTES;
    if (isDue) this.sendUnnumbered({ case: undefined });
    return true;
  }

  #put(number: number, what: FrameBody): void {
    if (this.#wire === undefined) return;
    this.#acknowledged = this.#received;
    this.#unacknowledgedBytes = 0;
    this.#wire.send(create(FrameSchema, { number, acknowledged: this.#received, what }));
  }

  #forget(acknowledged: number): void {
    let count = 0;
    for (const { number, bytes } of this.#kept) {
      if (number > acknowledged) break;
      this.#keptBytes -= bytes;
      count++;
    }
    if (count > 0) this.#kept.splice(0, count);
  }
}

function sizeOf(what: FrameBody): number {
  return FRAME_BYTES + (what.case === 'batch' || what.case === 'report' ? what.value.byteLength : 0);
}

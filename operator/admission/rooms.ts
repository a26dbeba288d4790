// How many runs each class of runner can still execute (A12).

import { refuse } from './refuse.ts';

/** A class of runner. */
export class Room {
  readonly number: number;
  /** Absent for "any class", which runs take that name none. */
  readonly name: string | undefined;
  size = 0;
  /** Runs that execute in it. May exceed the size: a parent that goes on after its children takes its room back unasked. */
  used = 0;

  constructor(number: number, name: string | undefined) {
    this.number = number;
    this.name = name;
  }
}

/** The classes, in the order in which they were first named; number 0 is "any". */
export class Rooms {
  readonly all: readonly Room[];
  readonly #all: Room[];
  readonly #byName = new Map<string, Room>();
  readonly #any = new Room(0, undefined);
  #isSized = false;

  constructor(sizes: Readonly<Record<string, number>>) {
    this.#all = [this.#any];
    this.all = this.#all;
    for (const [name, size] of Object.entries(sizes)) this.resize(name, size);
  }

  /** A class that nobody sized has no room: its runs wait and show why. */
  named(name: string | undefined): Room {
    if (name === undefined) return this.#any;
    let room = this.#byName.get(name);
    if (!room) {
      room = new Room(this.#all.length, name);
      this.#all.push(room);
      this.#byName.set(name, room);
    }
    return room;
  }

  resize(name: string, size: number): void {
    if (!Number.isSafeInteger(size) || size < 0)
      refuse(`room of class ${name} must be an integer of 0 or more, got ${size}`);
    this.#isSized = true;
    this.named(name).size = size;
  }

  /** Until a class is sized, runs that name none need no room. */
  hasRoom(room: Room): boolean {
    if (room !== this.#any) return room.used < room.size;
    return !this.#isSized || this.#roomiest() !== undefined;
  }

  /** The class whose room a run takes: its own; for "any" the one with the most room, the first named among equals. */
  choose(room: Room): Room {
    return room === this.#any && this.#isSized ? (this.#roomiest() ?? room) : room;
  }

  #roomiest(): Room | undefined {
    let best: Room | undefined;
    for (const room of this.#byName.values())
      if (room.used < room.size && (!best || room.size - room.used > best.size - best.used)) best = room;
    return best;
  }
}

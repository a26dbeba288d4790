// Classes of runner, and how many runs each can still execute (A12).
import { whole } from './refuse.ts';

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

export class Rooms {
  /** In the order in which they were first named; number 0 is "any". */
  readonly all: readonly Room[];
  readonly #all = [new Room(0, undefined)];
  readonly #byName = new Map<string | undefined, Room>();
  #isSized = false;

  constructor(sizes: Readonly<Record<string, number>>) {
    this.all = this.#all;
    this.#byName.set(undefined, this.#all[0] as Room);
    for (const [name, size] of Object.entries(sizes)) this.resize(name, size);
  }

  /** Runs that execute. */
  get executing(): number {
    let executing = 0;
    for (const { used } of this.#all) executing += used;
    return executing;
  }

  /** A class that nobody sized has no room: its runs wait and show why. */
  named(name: string | undefined): Room {
    const known = this.#byName.get(name);
    if (known) return known;
    const room = new Room(this.#all.length, name);
    this.#all.push(room);
    this.#byName.set(name, room);
    return room;
  }

  resize(name: string, size: number): void {
    this.named(name).size = whole(`room of class ${name}`, size, 0);
    this.#isSized = true;
  }

  /** For a run of the class with this number. */
  hasRoom(number: number): boolean {
    if (number === 0 && !this.#isSized) return true;
    const { used, size } = this.choose(this.#all[number] as Room);
    return used < size;
  }

  /** Whose room a run takes: its class's; for "any" the one with the most, the first named among equals. Until one is sized, nobody's. */
  choose(room: Room): Room {
    let best = room;
    if (room.number === 0 && this.#isSized)
      for (const other of this.#all) if (other.size - other.used > best.size - best.used) best = other;
    return best;
  }
}

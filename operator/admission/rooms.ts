// Classes of runner, and how many runs each can still execute (A12).
import { whole } from './checks.ts';
import type { RunEntry } from './run.ts';

export interface Room {
  readonly number: number;
  /** Absent for "any class", which runs take that name none. */
  readonly name: string | undefined;
  size: number;
  /** Runs that execute in it. May exceed the size: a parent that goes on after its children takes its room back unasked. */
  used: number;
}

export class Rooms {
  /** Few, in the order in which they were first named. Number 0 is "any": without bounds until a class is sized, then without room of its own. */
  readonly all: Room[] = [{ number: 0, name: undefined, size: Number.POSITIVE_INFINITY, used: 0 }];
  /** Runs that execute. */
  executing = 0;

  /** A class that nobody sized has no room: its runs wait and show why. */
  named(name: string | undefined): Room {
    for (const room of this.all) if (room.name === name) return room;
    const room = { number: this.all.length, name, size: 0, used: 0 };
    this.all.push(room);
    return room;
  }

  resize(name: string, size: number): void {
    this.named(name).size = whole(`room of class ${name}`, size, 0);
    this.all[0]!.size = 0;
  }

  /** For a run of the class with this number. */
  hasRoom(number: number): boolean {
    const { used, size } = this.choose(this.all[number]!);
    return used < size;
  }

  /** Whose room a run takes: its class's; for "any" the one with the most, the first named among equals. Until one is sized, nobody's. */
  choose(room: Room): Room {
    let best = room;
    if (room.number === 0)
      for (const other of this.all) if (other.size - other.used > best.size - best.used) best = other;
    return best;
  }

  /** The run takes room in its class while it executes, and none while it waits for its children. */
  execute(run: RunEntry, isExecuting: boolean): void {
    if (isExecuting === run.isExecuting) return;
    const change = isExecuting ? 1 : -1;
    run.isExecuting = isExecuting;
    run.room.used += change;
    this.executing += change;
  }
}

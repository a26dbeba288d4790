// A process of its own that opens a state and holds it until it is killed: `node hold.ts FILE`.
import { systemClock } from '../../../runner/clock.ts';
import { SqliteState } from '../../../runner/state/index.ts';

const state = new SqliteState({ file: process.argv[2] ?? '', clock: systemClock });
await state.open('next');
process.stdout.write(`holding\n`);
setInterval(() => {}, 1 << 30);

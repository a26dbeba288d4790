// An operator that was replaced and does not know it: what it grants is executed, and the state store refuses it; runners that have seen the
// newer one leave it, and by that it learns. Real processes, real TLS, Postgres.
import { expect, onTestFinished, test } from 'vitest';
import type { RunningCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { testPostgres } from '../support/postgres.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { StandaloneField } from './field.ts';
import { freePort } from './free-port.ts';

const postgres = await testPostgres('two operators at once on Postgres');

test.skipIf(postgres === undefined)(
  'what an operator grants that does not lead any more commits nothing, and a runner that knows better ends it',
  { timeout: 300_000 },
  async () => {
    const field = new StandaloneField({ limit: 8, runners: 0, eachMs: 1, postgresUrl: postgres!.url });
    const proxy = new TcpProxy();
    onTestFinished(() => proxy.close());
    onTestFinished(() => field.close());
    const [oldPort, newPort] = [await freePort(), await freePort()];
    const old = await field.startOperatorOn(oldPort);
    const loyal = field.startRunner('loyal', 4, [oldPort, newPort]);
    field.write('listed', 'first', 'indexed while one operator leads');
    await field.settled();

    await field.startOperatorOn(newPort);
    const informed = field.startRunner('informed', 4, [await proxy.listen(newPort), oldPort, newPort]);
    await executedBy(informed, field); // the new leader's epoch is known to the store

    // The new leader lists nothing before `loyal` has reported; the old one does, and `loyal` executes.
    field.write('listed', 'late', 'granted by the old leader');
    await eventually(
      () => field.executions().find(({ key }) => key === 'listed/late'),
      (run) => run !== undefined && run.endedAtMs < Number.POSITIVE_INFINITY,
      'the old leader has it executed',
    );
    expect(field.executions().find(({ key }) => key === 'listed/late')?.pid).toBe(loyal.process.pid);
    field.write('watched', 'after that', 'granted by the new leader');
    await eventually(
      () => field.rows(),
      (rows) => 'watched/after that' in rows,
      'the new leader goes on',
    );
    expect(await field.rows(), 'the store refused it').not.toHaveProperty('listed/late');

    proxy.close(); // `informed` looks for another operator
    await old.sees(/another operator leads now; this one ends/);
    expect((await old.done).code).toBe(1);
    await field.settled();
    expect(informed.process.exitCode, 'runners go on').toBeNull();
  },
);

/** A change that a watcher sees is executed there. It is made again and again: the watcher may not stand yet. */
async function executedBy({ process: { pid } }: RunningCommand, field: StandaloneField): Promise<void> {
  let looks = 0;
  await eventually(
    () => {
      if (++looks % 20 === 1) field.write('watched', 'changing', `text ${looks}`);
      return field.executions().filter((run) => run.pid === pid && run.endedAtMs < Number.POSITIVE_INFINITY).length;
    },
    (ended) => ended > 0,
    'a runner of the new leader executes',
  );
}

// A state goes from an operator to `fairlead dev` and back, and never is both's: real processes, real TLS, both stores.
import { describe, expect, onTestFinished, test } from 'vitest';
import { testPostgres } from '../support/postgres.ts';
import { type FieldOptions, StandaloneField } from './field.ts';

const postgres = await testPostgres('an operator beside fairlead dev, on Postgres');

const STORES: Readonly<Record<string, Pick<FieldOptions, 'postgresUrl'> | undefined>> = {
  'on SQLite': {},
  'on Postgres': postgres && { postgresUrl: postgres.url },
};

for (const [name, store] of Object.entries(STORES))
  describe.skipIf(store === undefined)(name, { timeout: 300_000 }, () => {
    test('while one of them works the other one is told who does; afterwards each goes on where the other one stopped', async () => {
      const field = new StandaloneField({ limit: 4, runners: 1, eachMs: 1, ...store });
      onTestFinished(() => field.close());
      field.write('listed', 'first', 'by the operator');
      await field.startOperator();
      await field.settled();

      const refused = await field.dev().done;
      expect(refused.code, refused.stderr).toBe(1);
      expect(refused.stderr).toContain(`in use by an operator's runner, process ${field.runners()[0]} on `);
      expect(refused.stderr).toContain('suspend the Pipeline in that operator (spec.suspend) or delete it there');

      field.operator.process.kill('SIGTERM');
      await field.operator.done;
      // Each of these counts its epochs on; the operator that comes back does not know of them.
      for (const text of ['one', 'two', 'three']) {
        field.write('listed', 'second', text);
        expect(await field.dev().done).toMatchObject({ code: 0 });
      }
      const watching = field.dev('--watch');
      await watching.sees(/watched: Succeeded/);
      await field.startOperator();
      await field.operator.sees(new RegExp(`is in use by process ${watching.process.pid} on `));
      field.write('watched', 'third', 'by dev');
      await field.settled();

      watching.process.kill('SIGTERM');
      expect(await watching.done).toMatchObject({ code: 0 });
      field.write('listed', 'second', 'by the operator again');
      await field.settled();
    });
  });

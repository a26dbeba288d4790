// A module of a user as it would be loaded from a file.
import type { PlannedStep, UserFunction, UserModule } from '../../runner/execute/index.ts';

export function moduleOf(functions: object, identity = 'm1'): UserModule {
  const found = new Map(Object.entries(functions) as [string, UserFunction][]);
  const names = new Map([...found].map(([name, value]) => [value as unknown, name]));
  return {
    name: 'steps.ts',
    identity,
    find: (name) => found.get(name),
    nameOf: (exported) => names.get(exported),
    framesOf: () => ['work (steps.ts:1:2)'],
  };
}

/** The step that calls the module's function `entry`. */
export const moduleStep = (module: UserModule): PlannedStep => ({
  verb: 'module',
  module,
  entry: 'entry',
  settings: { loud: true },
  retry: { attempts: 1 },
  timeoutMs: 1_000,
});

// References to secret values. The value never stands in an object: only where the runner finds it.
import { exactlyOne, object, objectName, patterned, variableName, worded } from './fields.ts';

const keyOfSecret = object('Key of a Secret in the namespace of the object.', {
  name: objectName('Name of the Secret.'),
  key: patterned(
    'Key within the Secret, such as url or token.',
    253,
    /^[-._a-zA-Z0-9]+$/,
    'must be letters, digits, -, _ and .',
  ),
}).optional();

/** Where a secret value comes from. */
export const secretFrom = (description: string) =>
  exactlyOne(
    `${description} Exactly one of secretKeyRef and env.`,
    {
      secretKeyRef: keyOfSecret,
      env: variableName(
        'Name of an environment variable of the runner; on one machine, of the fairlead process.',
      ).optional(),
    },
    {},
  );

export const httpUrl = (description: string) =>
  worded(description, 2048, /^https?:\/\/[^\s/]+/, 'must be an address that starts with http:// or https://');

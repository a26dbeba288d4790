// Metadata of an object, as far as files on this machine may carry it. The API server has its own, equal rules.
import { z } from 'zod';
import { NAME_PATTERN, NAME_WORDS } from './fields.ts';
import { and, matches, type Rule, sizeAtMost } from './rules.ts';

/** Names of pods and values of labels are made from the name, so it is shorter than Kubernetes allows. */
export const MAX_NAME_LENGTH = 52;

const stringMap = z.record(z.string(), z.string());

/** The same for the API server, whose own rule on names is wider. */
export const isName: Rule = {
  holds: and(sizeAtMost('self.metadata.name', MAX_NAME_LENGTH), matches('self.metadata.name', NAME_PATTERN)),
  message: `metadata.name ${NAME_WORDS}, and at most ${MAX_NAME_LENGTH} characters`,
};

/** `metadata`; what only the API server writes is allowed and not looked at. */
export const metadata = z.strictObject({
  name: z.string().min(1).max(MAX_NAME_LENGTH).regex(NAME_PATTERN, { error: NAME_WORDS }),
  namespace: z.string().min(1).max(63).regex(NAME_PATTERN, { error: NAME_WORDS }).optional(),
  labels: stringMap.optional(),
  annotations: stringMap.optional(),
  finalizers: z.array(z.string()).optional(),
  uid: z.string().optional(),
  generation: z.int().optional(),
  resourceVersion: z.string().optional(),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().nullish(),
  deletionGracePeriodSeconds: z.int().optional(),
  ownerReferences: z.array(z.record(z.string(), z.unknown())).optional(),
  managedFields: z.array(z.unknown()).optional(),
  generateName: z.string().optional(),
  selfLink: z.string().optional(),
});

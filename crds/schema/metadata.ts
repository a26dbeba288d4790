// Metadata of an object, as far as files on this machine may carry it. The API server has its own, equal rules.
import { z } from 'zod';
import { NAME_PATTERN, NAME_WORDS } from './fields.ts';

/** Names of pods and values of labels are made from the name, so it is shorter than Kubernetes allows. */
export const MAX_NAME_LENGTH = 52;

const stringMap = z.record(z.string(), z.string());

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

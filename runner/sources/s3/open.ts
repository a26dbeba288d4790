// Makes the s3 source of a spec.
import { S3Client } from '@aws-sdk/client-s3';
import type { Source } from '../../execute/index.ts';
import type { ReadSecret } from '../../secrets.ts';
import { pathFilter } from '../common/filter.ts';
import type { S3Spec } from '../common/spec.ts';
import { S3Source } from './source.ts';

/** Without keys in the spec the client finds what the pod's own identity gives (web identity, container or instance role). */
export function openS3(spec: S3Spec, options: { readonly secret: ReadSecret }): Source {
  const { accessKeyIdFrom, secretAccessKeyFrom, endpoint } = spec;
  const keys = accessKeyIdFrom && secretAccessKeyFrom;
  const credentials = async () => ({
    accessKeyId: (await options.secret(accessKeyIdFrom ?? {})).trim(),
    secretAccessKey: (await options.secret(secretAccessKeyFrom ?? {})).trim(),
  });
  const client = new S3Client({
    region: spec.region ?? 'us-east-1',
    forcePathStyle: spec.pathStyle ?? false,
    maxAttempts: 3,
    // Checksums beyond what the protocol needs are not known to all servers.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 10_000, requestTimeout: 60_000 },
    ...(endpoint !== undefined && { endpoint }),
    ...(keys && { credentials }),
  });
  return new S3Source({ client, bucket: spec.bucket, prefix: spec.prefix ?? '', filter: pathFilter(spec) });
}

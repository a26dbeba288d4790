// How many items a source has, and how many of them are not well: by indexes, so that the size of what is stored does not count.
import type { Sqlite } from '../../database/index.ts';
import type { HeldItems } from '../../protocol/index.ts';
import { sourceAt } from '../names.ts';

const COUNT = `
SELECT parents.path, sums.total, coalesce(bad.failed, 0), coalesce(bad.quarantined, 0)
FROM (SELECT parent, count(*) AS total FROM components WHERE is_item = 1 GROUP BY parent) AS sums
JOIN parents ON parents.id = sums.parent
LEFT JOIN (
  SELECT parent, sum(status = 1) AS failed, sum(status = 2) AS quarantined
  FROM components WHERE status > 0 AND is_item = 1 GROUP BY parent
) AS bad ON bad.parent = sums.parent
ORDER BY parents.path`;

/** Sources by their names. */
export function heldItems(database: Sqlite): HeldItems[] {
  return database
    .sql(COUNT)
    .all()
    .map((cells) => {
      const [path, total, failed, quarantined] = cells as unknown as [string, number, number, number];
      return { source: sourceAt(path), total, failed, quarantined };
    });
}

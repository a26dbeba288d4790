// The git server of a place, with one repository: git://git/docs.
import type { Place } from './place.ts';

export class Repository {
  readonly #place: Place;

  static async serve(place: Place): Promise<Repository> {
    await place.serve('services/git.yaml', 'git');
    const repository = new Repository(place);
    await repository.#shell('git init -q -b main /git/docs; mkdir /git/docs/pages');
    return repository;
  }

  private constructor(place: Place) {
    this.#place = place;
  }

  /** Commits `count` pages; page i of them says "WORD i". */
  async commit(word: string, count = 1): Promise<void> {
    const pages = `for i in $(seq 1 ${count}); do echo "${word} $i" > pages/${word}-$i.md; done`;
    await this.#shell(`cd /git/docs; ${pages}; git add .; git commit -qm ${word}`);
  }

  /** Commits another word in place of the one that the pages of a commit say. */
  async replace(word: string, by: string): Promise<void> {
    await this.#shell(`cd /git/docs; sed -i 's/${word}/${by}/' pages/${word}-*.md; git commit -qam ${by}`);
  }

  #shell(script: string): Promise<string> {
    return this.#place.kubectl('exec', 'deployment/git', '--', 'sh', '-ec', script);
  }
}

import { Option } from 'commander'
import type { Command } from '../../cli/command.ts'
import { runService } from './run.ts'

interface Options {
  readonly waitForDependencies?: true
  readonly watch?: true
  readonly embedded?: true
}

/**
 * `gavel serve`: the HTTP door by itself, until the signal; what it takes is judged by processes of `gavel run`, or, embedded, by
 * this one.
 */
export const command: Command<Options, void> = {
  options: [
    new Option('--embedded', 'judge in this process too, without Kafka and Redis; all data is lost at exit').conflicts([
      'waitForDependencies',
      'watch',
    ]),
    new Option('--wait-for-dependencies', 'wait for Redis and Kafka instead of exiting with an error'),
    new Option('--watch', 'reload settings and prompts when their files change, as at a SIGHUP'),
  ],
  json: false,
  help: 'Examples:\n  $ gavel serve --embedded\n  $ gavel keys create --tenant acme --scopes send,read\n  $ KAFKA_BROKERS=localhost:9092 REDIS_URL=redis://localhost gavel serve\nThe same as "gavel run --roles door". docs/door.md lists its routes.',
  async run({ options: { embedded, ...options }, ...invocation }) {
    if (embedded === true) {
      const { serveEmbedded } = await import('../embedded/serve-embedded.ts')
      return serveEmbedded(invocation.settings(), invocation)
    }
    await runService(['door'], options, invocation)
  },
  print() {},
}

import type { Command } from '../../../cli/command.ts'
import { mustExist, withThreads } from './store.ts'

/**
 * `gavel protocols pause`: no process opens a case of this protocol until it is resumed. Threads that become due
 * meanwhile are remembered; open cases still finish.
 */
export const command: Command<object, void> = {
  options: [],
  json: false,
  help: 'Example:\n  $ gavel protocols pause safety',
  async run({ args: [name = ''], settings: read }) {
    const settings = read()
    mustExist(settings, name)
    await withThreads(settings, (threads) => threads.pause(name))
  },
  print(_, { args: [name], terminal }) {
    terminal.say(`${name} is paused: open cases will finish; new ones wait until you resume.`)
  },
}

import type { Command } from '../../../cli/command.ts'
import { mustExist, withThreads } from './store.ts'

/** `gavel protocols resume`: resolves to how many threads waited and are due now. */
export const command: Command<object, number> = {
  options: [],
  json: false,
  help: 'Example:\n  $ gavel protocols resume safety',
  async run({ args: [name = ''], settings: read }) {
    const settings = read()
    mustExist(settings, name)
    return withThreads(settings, (threads) => threads.resume(name, Date.now()))
  },
  print(woken, { args: [name], terminal }) {
    terminal.say(`${name} resumed; ${woken === 1 ? '1 waiting thread is' : `${woken} waiting threads are`} due.`)
  },
}

import { writeFileSync } from 'node:fs'
import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { counted } from '../../../cli/terminal.ts'
import { packed } from '../../../models/vetoes/hash-list.ts'

interface PackedList {
  readonly file: string
  readonly hashes: number
  readonly bytes: number
}

/** `gavel veto pack`: makes a long list of hashes one of which none is held in memory. */
export const command: Command<{ readonly out: string }, PackedList> = {
  options: [new Option('--out <file>', 'where the packed list goes').makeOptionMandatory()],
  json: true,
  help: 'The packed list holds each hash once, in order: 32 bytes a hash. Packing holds two copies of them in memory. Replace a list that a service uses by renaming the new file, and have it reload (SIGHUP). See docs/vetoes.md.\n\nExample:\n  $ gavel veto pack known.txt --out known.bin',
  async run({ args: [file = ''], options: { out } }) {
    const { bytes, entries } = await packed(file)
    writeFileSync(out, bytes)
    return { file: out, hashes: entries, bytes: bytes.length }
  },
  print(made, { json, terminal }) {
    if (json) terminal.out(JSON.stringify(made))
    else terminal.out(`${made.file}: ${counted(made.hashes, 'entry')}, ${made.bytes} bytes.`)
  },
}

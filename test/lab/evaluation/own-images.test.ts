import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, describe, expect, it } from 'vitest'
import type { FileMessage } from '../../../src/data-files/file-message.ts'
import { type Format, fileMessages } from '../../../src/data-files/formats.ts'
import { LaterImages } from '../../../src/data-files/own-images.ts'
import { ownGold } from '../../../src/lab/evaluation/own-gold.ts'
import { png } from '../../support/pictures.ts'

const outside = mkdtempSync(join(tmpdir(), 'gavel-images-'))
const folder = join(outside, 'set')
mkdirSync(join(folder, 'pics'), { recursive: true })
afterAll(() => rmSync(outside, { recursive: true }))
const picture = png(4, 4)
writeFileSync(join(folder, 'pics', 'a.png'), picture)
writeFileSync(join(outside, 'secret.png'), picture)
symlinkSync(join(outside, 'secret.png'), join(folder, 'pics', 'link.png'))
const bytesIn = (url: unknown) => Buffer.from(String(url).split('base64,')[1] ?? '', 'base64')

async function messagesOf(file: string, format: Format = 'gavel') {
  const bad: string[] = []
  const messages: FileMessage[] = []
  for await (const message of fileMessages(file, format, ({ line, why }) => bad.push(`${line} ${why}`)))
    messages.push(message)
  return { messages, bad }
}
function fileOf(name: string, content: string | Buffer): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

describe('an item of an own file', () => {
  it('may have a number for an id, as pandas writes it, in Parquet and in lines, and is judged as the item that people labelled', async () => {
    const columnData = [
      { name: 'id', data: [0n, 1n], type: 'INT64' as const },
      { name: 'text', data: ['one', 'two'] },
      { name: 'label', data: ['safe', 'unsafe'] },
    ]
    const parquet = fileOf('numbered.parquet', Buffer.from(parquetWriteBuffer({ columnData })))
    const lines = fileOf('numbered.jsonl', '{"id": 0, "text": "one", "label": "safe"}\n{"id": 1, "text": "two"}\n')
    for (const file of [parquet, lines]) {
      const { messages, bad } = await messagesOf(file)
      expect([messages.map(({ key, value }) => [key, value.id]), bad]).toEqual([
        [
          ['0', '0'],
          ['1', '1'],
        ],
        [],
      ])
    }
  })
})

describe('an image of an own file', () => {
  const SAFETY = { name: 'safety', labels: ['safe', 'unsafe'] }

  it('is read by its path beside the file, in lines and in tables, and judged with its description as AIR-Bench’s are', async () => {
    const item = { id: 'i1', image: 'pics/a.png', description: 'a burning match', label: 'unsafe' }
    const lines = fileOf(
      'items.jsonl',
      `${JSON.stringify(item)}\n${JSON.stringify({ ...item, id: 'i2', text: 'look' })}\n`,
    )
    const rows = fileOf(
      'items.csv',
      'id,text,image,description,label\ni1,,pics/a.png,a burning match,unsafe\ni2,look,pics/a.png,a burning match,unsafe\n',
    )
    for (const file of [lines, rows]) {
      const { messages, bad } = await messagesOf(file)
      expect(bad).toEqual([expect.stringContaining('taken as what its image shows')])
      expect(messages.map(({ key, descriptions }) => [key, descriptions])).toEqual([
        ['i1', ['a burning match']],
        ['i2', ['a burning match']],
      ])
      const [first, second] = messages.map(({ value }) => value)
      expect(first).toMatchObject({ media: [{ kind: 'image', alt: 'a burning match' }] })
      expect(first).not.toHaveProperty('description')
      expect(second).toMatchObject({ text: 'look' })
      const [medium] = (first?.media ?? []) as { url: string }[]
      expect(bytesIn(medium?.url).equals(picture)).toBe(true)
      const gold: (string | null)[][] = []
      for await (const { id, label } of ownGold(file, { format: 'gavel', protocol: SAFETY }, () => {}))
        gold.push([id, label])
      expect(gold).toEqual([
        ['i1', 'unsafe'],
        ['i2', 'unsafe'],
      ])
    }
    const airbench = fileOf('airbench.jsonl', '{"text": "look", "description": "a burning match", "voted_risk": "1"}\n')
    const own = fileOf('described.jsonl', '{"text": "look", "description": "a burning match", "label": "unsafe"}\n')
    const [theirs, ours] = [await messagesOf(airbench, 'airbench-both'), await messagesOf(own)]
    const shown = ({ messages: [message] }: typeof ours) => [
      message?.value.text,
      message?.value.media,
      message?.descriptions,
    ]
    expect(shown(ours)).toEqual(shown(theirs))
  })

  it('is none that lies outside the file’s folder, by any way, nor one that is not there', async () => {
    const paths = ['../secret.png', join(outside, 'secret.png'), 'pics/link.png', 'pics', 'pics/none.png', '.']
    const file = fileOf(
      'odd.jsonl',
      paths.map((image, at) => `${JSON.stringify({ id: `x${at}`, text: 'look', image })}\n`).join(''),
    )
    const { messages, bad } = await messagesOf(file)
    expect(messages).toEqual([])
    expect(bad.map((line) => /is no file/.test(line))).toEqual(paths.map(() => true))
  })

  it('is not read where its post is not wanted', async () => {
    const file = fileOf(
      'two.jsonl',
      '{"id": "a", "text": "x", "image": "none.png"}\n{"id": "b", "text": "x", "image": "pics/a.png"}\n',
    )
    const bad: string[] = []
    const messages = fileMessages(file, 'gavel', ({ why }) => bad.push(why), {}, { isShown: (key) => key === 'b' })
    const urls: unknown[] = []
    for await (const { value } of messages) urls.push((value.media as { url: string }[])[0]?.url.slice(0, 5))
    expect([urls, bad]).toEqual([['none.', 'data:'], []])
  })

  it('is read when it is shown, and not with its file: thousands of them would fill memory', async () => {
    const path = join(folder, 'pics', 'large.png')
    writeFileSync(path, Buffer.concat([png(4, 4), Buffer.alloc(1_000_000)]))
    const items = Array.from({ length: 20 }, (_, nth) => JSON.stringify({ id: `i${nth}`, image: 'pics/large.png' }))
    const odd = JSON.stringify({ id: 'odd', text: 'x', image: 'later.jsonl' })
    const file = fileOf('later.jsonl', `${[...items, odd].join('\n')}\n`)
    const [later, bad] = [new LaterImages(), [] as string[]]
    const addresses = new Set<string>()
    for await (const { value } of fileMessages(file, 'gavel', ({ why }) => bad.push(why), {}, { later }))
      addresses.add((value.media as { url: string }[])[0]?.url ?? '')
    expect([addresses.size, [...addresses].join().length < 100, bad]).toEqual([
      1,
      true,
      [expect.stringContaining('is none')],
    ])
    const shown: string[] = []
    const load = later.loading(async (url) => {
      shown.push(url)
      return url
    })
    const { signal } = new AbortController()
    const [address = ''] = addresses
    await load(address, signal)
    // As it lies there then.
    writeFileSync(path, picture)
    await load(address, signal)
    await load('https://example.com/a.png', signal)
    expect(shown.map((url) => bytesIn(url).length)).toEqual([picture.length + 1_000_000, picture.length, 0])
    rmSync(path)
    await expect(load(address, signal)).rejects.toMatchObject({ code: 'image' })
  })

  it('is taken as it stands where it is an address, and left alone in messages of the topics', async () => {
    const web = fileOf('web.jsonl', '{"id": "w", "text": "look", "image": "https://example.com/a.png"}\n')
    expect((await messagesOf(web)).messages[0]?.value.media).toEqual([
      { kind: 'image', url: 'https://example.com/a.png' },
    ])
    const topic = fileOf(
      'topic.jsonl',
      '{"type": "post", "id": "t", "text": "look", "createdAt": "2026-01-01T00:00:00Z", "description": "mine"}\n',
    )
    expect((await messagesOf(topic)).messages[0]).toMatchObject({ key: 't', value: { text: 'look' } })
    const [message] = (await messagesOf(topic)).messages
    expect(message?.value).not.toHaveProperty('media')
    expect(message).not.toHaveProperty('descriptions')
    const path = fileOf(
      'path.jsonl',
      '{"type": "post", "id": "t", "media": [{"kind": "image", "url": "pics/a.png"}]}\n',
    )
    expect((await messagesOf(path)).messages[0]?.value.media).toEqual([{ kind: 'image', url: 'pics/a.png' }])
  })

  it('lies in a column of Parquet as Hugging Face keeps it, bytes beside a path', async () => {
    const schema = [
      { name: 'root', num_children: 3 },
      { name: 'image', num_children: 2, repetition_type: 'OPTIONAL' },
      { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
      { name: 'path', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      { name: 'id', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      { name: 'label', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
    ] as const
    const columnData = [
      {
        name: 'image',
        data: [
          { bytes: new Uint8Array(picture), path: 'a.png' },
          { bytes: null, path: 'pics/a.png' },
        ],
      },
      { name: 'id', data: ['p1', 'p2'] },
      { name: 'label', data: ['safe', 'unsafe'] },
    ]
    const file = fileOf('images.parquet', Buffer.from(parquetWriteBuffer({ columnData, schema: [...schema] })))
    const { messages, bad } = await messagesOf(file)
    expect(bad).toEqual([])
    const media = messages.map(({ value }) => (value.media as { url: string }[])[0]?.url)
    expect(media.map((url) => bytesIn(url).equals(picture))).toEqual([true, true])
  })
})

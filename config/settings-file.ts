import { isMap, isScalar, parseDocument } from 'yaml'

/** The text of a settings file with another value at this path; all else as it stands, to the byte where there is a value already. */
export function withValueAt(text: string, path: readonly string[], value: string | number | boolean): string {
  const document = parseDocument(text)
  const node = document.getIn(path, true)
  if (isScalar(node) && node.range && node.anchor === undefined)
    return `${text.slice(0, node.range[0])}${JSON.stringify(value)}${text.slice(node.range[1])}`
  document.setIn(path, value)
  return document.toString({ lineWidth: 0 })
}

/** The text of a settings file with this entry as the first of the map at this path, in place of one of the same name. */
export function withFirstAt(text: string, path: readonly string[], name: string, value: object): string {
  const document = parseDocument(text)
  const map = document.getIn(path, true)
  if (isMap(map)) {
    map.delete(name)
    map.items.unshift(document.createPair(name, value))
  } else document.setIn(path, { [name]: value })
  return document.toString({ lineWidth: 0 })
}

/** The text of a settings file with this entry of the map at this path as its first; the entry itself as it stands. */
export function withFirst(text: string, path: readonly string[], name: string): string {
  const document = parseDocument(text)
  const map = document.getIn(path, true)
  const entry = isMap(map) ? map.items.find(({ key }) => String(key) === name) : undefined
  if (isMap(map) && entry !== undefined) map.items.unshift(...map.items.splice(map.items.indexOf(entry), 1))
  return document.toString({ lineWidth: 0 })
}

import { zeroFreeSpace } from './zero-free-space.ts'

const [path = '', from, to] = process.argv.slice(2)

zeroFreeSpace(path, Number(from), Number(to))

import { zeroFreeSpace } from './zero-free-space.ts'

const [path = '', from, to] = process.argv.slice(2)
// The lock is the parent's: once it has died, another may write.
const parent = process.ppid

zeroFreeSpace(path, Number(from), Number(to), () => process.ppid === parent)

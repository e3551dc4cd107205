import photon from '@silvia-odwyer/photon-node'
import { lightOf, pdqOf } from './pdq.ts'

// A process of its own, as redraw-process.ts is: it is given the bytes of one image, and writes its hash and the quality of that, or
// nothing of a tiny one.

const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk)
const image = photon.PhotonImage.new_from_byteslice(Buffer.concat(chunks))
const found = pdqOf(lightOf(image.get_raw_pixels(), image.get_width(), image.get_height()))
process.stdout.end(found === null ? '' : `${found.hash} ${found.quality}`)

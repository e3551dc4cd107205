import { expect, test } from 'vitest'
import { lightOf, pdqOf } from '../../../src/models/images/pdq.ts'

/**
 * Pictures by a formula, with their sides, and the hash that the reference gives them: `pdqhash` 0.2.8, which is ThreatExchange's own
 * C++ with a door for Python. The pictures that ThreatExchange publishes are compared by `npm run proof -- pdq`.
 */
const VECTORS = [
  [0, 64, 64, '38b26d0291aaa2de65078ad5d6a9e94d3699b99b563368e68786fc1e11fc3f80'],
  [1, 5, 5, '91a461d86e5b9b261b8464d994a5cb626e5b64d991a4c6f16e5b932694a56edb'],
  [2, 6, 200, '52b5b94bad4a8e3879c3ad4a52b552b552b5b94bad4aad4a25c20fe0ad6aad1a'],
  [3, 128, 128, 'fe4d141515e263bded439d498de56a17efe86c57779862416194aa4993529a4c'],
  [4, 129, 127, 'd38e56f9d436a5556d77cc958fa13d7ef817f002000db112912db95e293be924'],
  [5, 200, 150, '3c5f07ecf0f15d5d83f6fc0097e7800093d900220ffd8a3a3dd72b2a96d63555'],
  [6, 512, 512, '7563d9b47d497963c6bc0e4d81b3ac3c3659cdb3366c92c1c9a2926c64934d93'],
  [7, 511, 300, '6c97ba746cc9d3a1ad9bc2b3b2569aa5926cc3819932ed5c9332b55263e9264c'],
  [8, 333, 512, 'b5a7c8304bd2a36841b649a4364d4c99b36aad2e1e9a9a64b26c6c9373be6d97'],
  [9, 97, 64, '9cbaab3fae9abb6ec8916eecbb3adca8fb37da8c8001820a32a21551572571d1'],
  [10, 64, 65, 'ad1e28fd6fe8491bdff799641f987922ff67f908f000f054a200aa5db2a252aa'],
  [11, 320, 240, 'e28607e7536d7959f2b87d504507ac4722a7dbf8077857786d07d80ae80713f8'],
  [12, 64, 64, 'fd5f34f4a7ef3fffb3813ebfb7ec3aaa6602cc007c00c000597bc0045c7fc004'],
  [13, 5, 5, '394ed4a5cb729326695ac9436c5b9da5cb72348d318c6b5ac6f1318c3c0fc362'],
  [14, 6, 200, '03e08f380fe08f6825c2ee3c4ee44eb4ce6cce6ccf68af3a8fe046f407e0cee4'],
  [15, 128, 128, 'f38628000a28973bf6c61abe828a55d57645baeacb556b16e8a154b756a7ed5a'],
  [16, 129, 127, 'ae6200c3af8f5807f3fd5ef0b0945efd20a29d68e52f5f5c6039b4c2aaa85236'],
  [17, 200, 150, '859aa4d1b26e89764c9a6649a12ca609e4e3a6afcf98f655612c2d4986fcd5dd'],
  [18, 512, 512, '789fd731d615088ed84a24beb11787d53e8cca19603b27c7b74228df7c9fc601'],
  [19, 511, 300, '4d859362f42b28368d15faf9945b695702069a89f7e8b16762670e1bd399a6c7'],
  [20, 333, 512, '05ee2b72cbcb437306cfe2122f76c20babcd107307dca28a5fa657326b6c932a'],
  [21, 97, 64, '7971c0e74381fea700ea5faa1d50aa4971eaa7566b18dec125690ad7959266d7'],
  [22, 64, 65, 'd1bac78ff83f0200aeead59a0808754f58d4605fdf5432be5ddf146542f1644b'],
  [23, 320, 240, 'd6a3f1f12a5cb5e98681f4dc6b4f05b34daf41683783179a812e6d09339cb649'],
] as const

/** Each of red, green and blue by whole numbers alone, so that any language draws the same. */
function drawn(seed: number, width: number, height: number): Uint8Array {
  const rgba = new Uint8Array(width * height * 4)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let colour = 0; colour < 3; colour++) {
        const own = (seed + 1) * (colour + 3)
        const blocks = Math.floor(x / (3 + (seed % 9))) * Math.floor(y / (5 + (seed % 7)))
        rgba[4 * (y * width + x) + colour] =
          Math.floor((x * own * 7) / 13) + Math.floor((y * (own + 5) * 3) / 11) + blocks * ((own % 17) + 1)
      }
  return rgba
}

test.for(VECTORS)('picture %i of %i × %i pixels has the hash of the reference', ([seed, width, height, hash]) => {
  expect(pdqOf(lightOf(drawn(seed, width, height), width, height))?.hash).toBe(hash)
})

test('a picture of fewer than five pixels each way has none', () => {
  expect(pdqOf(lightOf(drawn(1, 4, 100), 4, 100))).toBeNull()
})

test('a picture of one colour tells nothing apart', () => {
  expect(pdqOf(lightOf(new Uint8Array(64 * 64 * 4).fill(200), 64, 64))?.quality).toBe(0)
})

--@include kept-bytes
-- How many bytes a thread holds, as src/judging/threads/thread-bytes.ts says. Its hash has the sums of what stands beside it
-- (saidBytes, originBytes, imageBytes) and how many protocols judge it (judges). A thread that an earlier version wrote, or a
-- recovery, is counted when it is next written to.
local THREAD_BYTES, COMMENT_BYTES = 1000, 200
local function comment_bytes(id, json) return #id + #json + COMMENT_BYTES end
local function bytes_beside(thread, kind, each)
  local root, member = string.match(thread, '^({.-}:)thread(:.*)$')
  local key, sum = root .. kind .. member, 0
  for _, name in ipairs(redis.call('HKEYS', key)) do sum = sum + #name + redis.call('HSTRLEN', key, name) + each end
  return sum
end
local function read_bytes(thread)
  local said, origins, images, judges = unpack(redis.call('HMGET', thread, 'saidBytes', 'originBytes', 'imageBytes', 'judges'))
  return {
    post = redis.call('HSTRLEN', thread, 'post'),
    said = tonumber(said or bytes_beside(thread, 'comments', COMMENT_BYTES)),
    origins = tonumber(origins or bytes_beside(thread, 'orphans', 0)),
    images = tonumber(images or bytes_beside(thread, 'images', 0)),
    judges = tonumber(judges or '0'),
  }
end
local function size_of(held)
  if held.post + held.said + held.origins == 0 then return 0 end
  return THREAD_BYTES + (1 + held.judges) * (held.post + held.said) + held.origins + held.images
end
local function write_bytes(thread, member, held)
  local size = size_of(held)
  if size > 0 then
    redis.call('HSET', thread, 'saidBytes', held.said, 'originBytes', held.origins, 'imageBytes', held.images, 'judges', held.judges)
  else redis.call('HDEL', thread, 'saidBytes', 'originBytes', 'imageBytes', 'judges') end
  set_kept(account_of(thread, member), member, size)
end

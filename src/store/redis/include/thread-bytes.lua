--@include kept-bytes
-- How many bytes a thread holds, as src/judging/threads/thread-bytes.ts says. Its hash has in one field, `held`, what its comments, their
-- origins and its images take, and how many protocols judge it. A thread without it, which an earlier version wrote, is counted when it
-- is next written to.
local THREAD_BYTES, COMMENT_BYTES = 1000, 200
-- In so many keys, and members of others, stands the thread's id.
local NAMES = 6
local function comment_bytes(id, json) return 2 * #id + #json + COMMENT_BYTES end
local function bytes_beside(thread, kind, each, names)
  local root, member = string.match(thread, '^({.-}:)thread(:.*)$')
  local key, sum = root .. kind .. member, 0
  for _, name in ipairs(redis.call('HKEYS', key)) do sum = sum + names * #name + redis.call('HSTRLEN', key, name) + each end
  return sum
end
-- `counted`: that field; nil, or false, if there is none. `post`: how long the post is.
local function read_bytes(thread, counted, post)
  if counted then
    local said, origins, images, judges = string.match(counted, '^(%-?%d+) (%-?%d+) (%d+) (%d+)$')
    return { post = post, said = math.max(tonumber(said), 0), origins = math.max(tonumber(origins), 0), images = tonumber(images),
      judges = tonumber(judges) }
  end
  local said = bytes_beside(thread, 'comments', COMMENT_BYTES, 2)
  return { post = post, said = said, origins = bytes_beside(thread, 'orphans', 0, 1), images = bytes_beside(thread, 'images', 0, 1), judges = 0 }
end
-- Earlier versions counted less for a comment than leaves with it now: there is never less than nothing.
local function counted_bytes(held)
  held.said, held.origins = math.max(held.said, 0), math.max(held.origins, 0)
  return held.said .. ' ' .. held.origins .. ' ' .. held.images .. ' ' .. held.judges
end
local function size_of(held, member)
  if held.post + held.said + held.origins == 0 then return 0 end
  return THREAD_BYTES + NAMES * #string.match(member, ':(.*)$') + (1 + held.judges) * (held.post + held.said) + held.origins + held.images
end
local function write_bytes(thread, member, held)
  local counted, size = counted_bytes(held), size_of(held, member)
  if size > 0 then redis.call('HSET', thread, 'held', counted) else redis.call('HDEL', thread, 'held') end
  set_kept(account_of(thread, member), member, size)
end

--@include time
-- All questions that have a prompt in common, their frame, are in one hash, an item each: `a`, the time until which it is valid,
-- a colon and the answer; or `l`, the time until which its lease runs, a colon and the asker. Times are Redis's, in ms. An
-- expired lease stays, so that a late answer is kept if nobody asked again, and is not if the question was forgotten. Beside the
-- items a frame holds `#`: when its first answer expires, a colon, and the longest time for which one was kept.
local META = '#'

-- Returns for each item its kind, its time and its text (nothing where the question is unknown or its answer has expired), and
-- what `#` says.
local function read_items(at, frame, items)
  local stored = redis.call('HMGET', frame, META, unpack(items))
  local meta = { first = math.huge, kept_ms = 0 }
  if stored[1] then
    local first, kept_ms = string.match(stored[1], '^(%d+):(%d+)$')
    meta.first, meta.kept_ms = tonumber(first), tonumber(kept_ms)
  end
  local read = {}
  for i = 1, #items do
    local text = stored[i + 1]
    read[i] = {}
    if text then
      local colon = string.find(text, ':', 2, true)
      local kind, expires = string.sub(text, 1, 1), tonumber(string.sub(text, 2, colon - 1))
      if kind == 'l' or expires > at then
        read[i] = { kind = kind, expires = expires, text = string.sub(text, colon + 1) }
      end
    end
  end
  return read, meta
end

-- Writes items (pairs of name and text), kept for at least this long.
local function write_items(frame, pairs_of, kept_ms)
  if #pairs_of == 0 then return end
  redis.call('HSET', frame, unpack(pairs_of))
  if redis.call('PTTL', frame) < kept_ms then redis.call('PEXPIRE', frame, kept_ms) end
end

-- Writes answers, and erases the frame's expired ones: they would stay as long as others come.
local function write_answers(at, frame, meta, pairs_of, kept_ms)
  if #pairs_of == 0 then return end
  if at >= meta.first then
    meta.first = math.huge
    local all = redis.call('HGETALL', frame)
    for i = 1, #all, 2 do
      local expires = tonumber(string.match(all[i + 1], '^a(%d+):'))
      if expires and expires <= at then
        redis.call('HDEL', frame, all[i])
      elseif expires then
        meta.first = math.min(meta.first, expires)
      end
    end
  end
  meta.first, meta.kept_ms = math.min(meta.first, at + kept_ms), math.max(meta.kept_ms, kept_ms)
  pairs_of[#pairs_of + 1] = META
  pairs_of[#pairs_of + 1] = string.format('%.0f:%.0f', meta.first, meta.kept_ms)
  write_items(frame, pairs_of, kept_ms)
end

-- Notes in a subject's index, a sorted set of frames by time, that this one was asked about it. An answer that the subject knows
-- is erased at the latest when those have expired that another subject adds until then: so long the note must stay.
local function index_frame(at, index, name, frame, meta)
  local left = redis.call('PTTL', frame)
  if left <= 0 then return end
  left = left + meta.kept_ms
  local known = redis.call('ZSCORE', index, name)
  -- Usually it is there already, so a lookup that finds answers writes nothing.
  if known and tonumber(known) >= at + left - 1000 then return end
  redis.call('ZADD', index, 'GT', at + left, name)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', '(' .. at)
  if redis.call('PTTL', index) < left then redis.call('PEXPIRE', index, left) end
end

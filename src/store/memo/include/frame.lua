--@include time
-- All questions that have a prompt in common, their frame, are in one hash, an item each:
--   `a`, the time until which it is valid, the subjects that know it, and the answer; or
--   `l`, the time at which its lease expires, its holder's subject (and `+` if others wait for the answer), and the holder,
-- with colons between them. Times are Redis's, in ms; subjects are short hashes, `*` if there are too many to name. An expired
-- lease stays, so that a late answer is kept if nobody took the lease over, and is not if the question was forgotten. Beside the items a
-- frame holds `#`: when to look for expired answers next, a colon, and the longest time for which anything was written.
local META, NEVER = '#', 9e15
local AWAITED = '+'
-- A larger frame would hold up Redis where it is read whole. What goes beyond is not remembered.
local MOST_ITEMS = 5000
-- An answer names at most so many subjects.
local MOST_SUBJECTS = 16
-- Expired answers are looked for at most so many times while one is kept.
local LOOKS = 8

-- A question that is no batch has a frame of its own, which goes with its answer.
local function is_alone(items) return #items == 1 and items[1] == '' end

local function item_of(text)
  local kind, expires, subjects, rest = string.match(text, '^(%a)(%d+):([^:]*):(.*)$')
  return { kind = kind, expires = tonumber(expires), subjects = subjects, text = rest }
end
local function text_of(kind, expires, subjects, rest)
  return kind .. string.format('%.0f', expires) .. ':' .. subjects .. ':' .. rest
end

local function names(subjects, subject)
  return subjects == '*' or string.find(',' .. subjects .. ',', ',' .. subject .. ',', 1, true) ~= nil
end
local function with_subject(subjects, subject)
  if names(subjects, subject) then return subjects end
  local _, commas = string.gsub(subjects, ',', '')
  return commas + 2 > MOST_SUBJECTS and '*' or subjects .. ',' .. subject
end

-- Of a lease: whether others wait for the answer; its item's subjects with that noted, and without.
local function is_awaited(item) return names(item.subjects, AWAITED) end
local function awaited_by_others(item) return with_subject(item.subjects, AWAITED) end
local function subjects_alone(item) return (string.gsub(item.subjects, ',%' .. AWAITED, '')) end

-- How many more items the frame can hold.
local function room_in(frame) return MOST_ITEMS - redis.call('HLEN', frame) end

-- Everything in a frame as items, by name.
local function all_items(frame)
  local items = {}
  local all = redis.call('HGETALL', frame)
  for i = 1, #all, 2 do
    if all[i] ~= META then items[all[i]] = item_of(all[i + 1]) end
  end
  return items, #all / 2
end

-- Returns each item, without a kind where the question is unknown or its answer has expired, and the fields of `#`.
local function read_items(at, frame, items)
  local stored = redis.call('HMGET', frame, META, unpack(items))
  local meta = { next_look = NEVER, longest_ms = 0 }
  if stored[1] then
    local next_look, longest_ms = string.match(stored[1], '^(%d+):(%d+)$')
    meta.next_look, meta.longest_ms = tonumber(next_look), tonumber(longest_ms)
  end
  local read = {}
  for i = 1, #items do
    local item = stored[i + 1] and item_of(stored[i + 1]) or {}
    read[i] = item.kind == 'a' and item.expires <= at and {} or item
  end
  return read, meta
end

local function erase_expired(at, frame)
  local first = NEVER
  for name, item in pairs((all_items(frame))) do
    if item.kind == 'a' and item.expires <= at then
      redis.call('HDEL', frame, name)
    elseif item.kind == 'a' then
      first = math.min(first, item.expires)
    end
  end
  return first
end

-- Writes items (pairs of name and text), which are kept for this long. Expired answers are erased on the way: they would stay as
-- long as others come.
local function write_items(at, frame, meta, pairs_of, kept_ms, alone)
  if #pairs_of == 0 then return end
  if not alone then
    meta.longest_ms = math.max(meta.longest_ms, kept_ms)
    if at >= meta.next_look then
      meta.next_look = math.max(erase_expired(at, frame), at + math.floor(meta.longest_ms / LOOKS))
    end
    meta.next_look = math.min(meta.next_look, at + kept_ms)
    pairs_of[#pairs_of + 1] = META
    pairs_of[#pairs_of + 1] = string.format('%.0f:%.0f', meta.next_look, meta.longest_ms)
  end
  redis.call('HSET', frame, unpack(pairs_of))
  if redis.call('PTTL', frame) < kept_ms then redis.call('PEXPIRE', frame, kept_ms) end
end

-- Notes in a subject's index, a sorted set of frames by time, that this one was asked about it. What the subject knows is erased
-- at the latest when that has expired which others write until then: so long the note must stay.
local function index_frame(at, index, name, frame, meta)
  local left = redis.call('PTTL', frame)
  if left <= 0 then return end
  left = left + meta.longest_ms + math.floor(meta.longest_ms / LOOKS)
  local known = redis.call('ZSCORE', index, name)
  -- Usually it is there already, so a lookup that finds answers writes nothing.
  if known and tonumber(known) >= at + left - 1000 then return end
  redis.call('ZADD', index, 'GT', at + left, name)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', '(' .. at)
  if redis.call('PTTL', index) < left then redis.call('PEXPIRE', index, left) end
end

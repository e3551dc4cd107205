-- Per scope: a hash with the window (calls and tokens in all, and by bucket c123 and t123 from `oldest` to `newest`), a sorted
-- set of calls in flight by the end of their lease, and those in line (reserve.lua): a set of members
-- PARTY|TURN|TIME|TOKENS|ACCOUNT|ASKER in the order of their bytes, one of these by when they lose their place, two of the
-- parties of each class by their turns, and a hash of counts, of the classes' turns and of members by call. A bucket is a six-hundredth of the window and leaves only
-- when its last moment has left: never too early, and at most 0.2 % late. All times are Redis's own, in ms.
local function precise_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end
-- What the window holds, without what has left it, and what one of its buckets holds.
local function slide(window, first, span, at)
  local fields = redis.call('HMGET', window, 'calls', 'tokens', 'oldest', 'newest', 'c' .. at, 't' .. at)
  local calls, tokens = tonumber(fields[1] or '0'), tonumber(fields[2] or '0')
  local oldest, newest = tonumber(fields[3] or '0'), tonumber(fields[4] or '0')
  local slid = { key = window, calls = calls, tokens = tokens, oldest = oldest, newest = newest, at = at,
    at_calls = tonumber(fields[5] or '0'), at_tokens = tonumber(fields[6] or '0') }
  if oldest >= first and newest <= first + 2 * span then return slid end
  if newest < first or newest > first + 2 * span then
    redis.call('DEL', window)
    return { key = window, calls = 0, tokens = 0, at = at, at_calls = 0, at_tokens = 0 }
  end
  local gone = {}
  for bucket = oldest, first - 1 do
    gone[#gone + 1] = 'c' .. bucket
    gone[#gone + 1] = 't' .. bucket
  end
  local left = redis.call('HMGET', window, unpack(gone))
  for i = 1, #left, 2 do
    slid.calls = slid.calls - (left[i] or 0)
    slid.tokens = slid.tokens - (left[i + 1] or 0)
  end
  redis.call('HDEL', window, unpack(gone))
  redis.call('HSET', window, 'calls', slid.calls, 'tokens', slid.tokens, 'oldest', first)
  slid.oldest = first
  return slid
end
-- Keys get a new expiry once a bucket, a bucket longer than needed. The clock may have gone back to a bucket and on again.
local function is_first_in_bucket(slid) return slid.newest ~= slid.at or slid.at_calls == 0 end
local function record(slid, calls, tokens, keep)
  redis.call('HSET', slid.key, 'calls', slid.calls + calls, 'tokens', slid.tokens + tokens,
    'oldest', math.min(slid.oldest or slid.at, slid.at), 'newest', slid.at,
    'c' .. slid.at, slid.at_calls + calls, 't' .. slid.at, slid.at_tokens + tokens)
  if is_first_in_bucket(slid) then redis.call('PEXPIRE', slid.key, keep) end
end

-- The turn of some verdicts among those of all runs; returns in how many ms they may be asked for.
--@key turn
--@arg now               ms since 1970
--@arg cost              how long their turn lasts, ms
--@arg made_up           what was not asked for within this time may be made up for at once, ms
local at = math.max(tonumber(redis.call('GET', turn) or '0'), tonumber(now) - tonumber(made_up))
local next = at + tonumber(cost)
redis.call('SET', turn, string.format('%.0f', next), 'PX', math.max(1000, math.ceil(next - tonumber(now)) + 1000))
return math.max(0, math.ceil(at - tonumber(now)))

-- Redis's own time, in whole ms since 1970.
local function redis_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
